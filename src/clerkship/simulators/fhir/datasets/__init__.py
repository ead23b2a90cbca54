"""FHIR datasets: files of resources and Bundles to the one form that every playground shares."""
