"""What is simulated of the Sinch API and what is refused, as data for requests and documentation."""

SIMULATED_PARAMETERS = (
    *("to", "from", "files", "file", "headerText", "maxRetries", "retryDelaySeconds", "labels", "resolution"),
    *("callbackUrl", "callbackUrlContentType", "serviceId"),
)
"""Parameters of a new fax that have an effect."""
IGNORED_PARAMETERS = ("headerPageNumbers", "headerTimeZone", "imageConversionMethod", "coverPageData")
"""Parameters of a new fax that are accepted and have no effect. The header line always has the page numbers and the
time in UTC."""
REFUSED_REQUESTS = {
    "`contentUrl` of a new fax": "the sandbox fetches no URLs; send the file (`url_not_fetched`)",
    "`coverPageId` of a new fax": "cover pages are not simulated; make the cover page a page of the document",
    "`resolution` SUPERFINE": "not simulated (expected: FINE)",
    "documents of types DOCX and HTML": "not converted; send PDF, TIF, PNG, JPG or TXT (`unknown_format`)",
    "a document that cannot be converted": "refused at once; in Sinch's API such a fax fails later",
    "POST and DELETE of services; `PATCH` of other fields than the webhook": "a project has one service",
    "fax to email (`/emails`), cover pages (`/coverPages`), any other path below `/v3/`": "not simulated",
}
"""Requests that are refused by name, with the reason."""
FILE_TYPES = {
    "PDF": "application/pdf",
    "TIF": "image/tiff",
    "TIFF": "image/tiff",
    "PNG": "image/png",
    "JPG": "image/jpeg",
    "JPEG": "image/jpeg",
    "TXT": "text/plain",
}
"""`fileType` of a document -> its media type. What a document is follows from its content."""
REFUSED_FILE_TYPES = ("DOCX", "DOC", "HTML")
