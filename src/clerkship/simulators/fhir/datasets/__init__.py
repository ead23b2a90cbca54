"""FHIR datasets: compile files of resources and Bundles into the form that playgrounds share."""
