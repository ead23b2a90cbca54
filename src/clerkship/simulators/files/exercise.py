"""Requests over HTTP and SFTP that exercise every operation of a file drop."""

from clerkship.model.dataset import Dataset
from clerkship.sandbox.request import Request
from clerkship.simulators.files.operations import NewFile, write_file
from clerkship.simulators.files.sftp.call import SftpCall

DATASET = Dataset(
    name="a partner's drop",
    type="files",
    files={
        "inbox/order 17.csv": b"patient,test\n123456,HbA1c\n",
        "inbox/scans/page.bin": bytes(range(256)),
        "inbox/scans/page 2.bin": b"",
        "readme.txt": b"Results go to outbox.\n",
    },
)
HALF = NewFile(path="outbox/half.bin", data=b"only so f", complete=False)
CHANGED = NewFile(path="outbox/letter.txt", data=b"Good colleague,\0\0\0\0\0!!")
EXERCISE = (
    Request("GET", "/files"),
    Request("PUT", "/files/outbox/letter.txt", body=b"Dear colleague,"),
    Request("PUT", "/files/outbox/letter.txt", body=b"Dear colleague, again,"),
    Request("PUT", "/files/outbox/scan.bin", body=bytes(range(256)) * 40),
    SftpCall(write_file, HALF, HALF.path, HALF.data),
    Request("PATCH", "/files/outbox/letter.txt", body=b'{"modified": "2026-02-27T17:30:00+01:00"}'),
    Request("GET", "/files/outbox/letter.txt"),
    Request("GET", "/files", {"prefix": "outbox"}),
    Request("GET", "/files", {"prefix": "outbox", "after": "outbox/half.bin", "count": "1"}),
    Request("PUT", "/folders/outbox/sent"),
    Request("GET", "/folders"),
    Request("GET", "/folders/outbox", {"count": "2"}),
    Request("GET", "/stat/outbox/letter.txt"),
    Request("GET", "/stat/outbox"),
    Request("GET", "/stat"),
    Request("GET", "/stat/nowhere", {"missing": "ok"}),
    Request("GET", "/space"),
    Request("GET", "/space/outbox/letter.txt", {"size": "4000000000"}),
    SftpCall(write_file, CHANGED, CHANGED.path, CHANGED.data),
    Request("POST", "/rename", body=b'{"from": "outbox/letter.txt", "to": "outbox/sent/letter.txt"}'),
    Request("POST", "/rename", body=b'{"from": "outbox/half.bin", "to": "outbox/scan.bin", "replace": true}'),
    Request("POST", "/rename", body=b'{"from": "outbox", "to": "posted"}'),
    Request("DELETE", "/folders/posted"),
    Request("DELETE", "/files/posted/scan.bin"),
    Request("GET", "/files/posted/scan.bin"),
    Request("PUT", "/folders/empty"),
    Request("DELETE", "/folders/empty"),
    Request("GET", "/files/inbox/order 17.csv"),
    Request("PUT", "/files/inbox/order 17.csv", body=b"patient,test\n123456,TSH\n"),
    Request("PATCH", "/files/readme.txt", body=b'{"modified": "2026-02-27T17:30:00+01:00"}'),
    Request("POST", "/rename", body=b'{"from": "readme.txt", "to": "inbox/readme.txt"}'),
    Request("POST", "/rename", body=b'{"from": "inbox", "to": "done"}'),
    Request("DELETE", "/files/done/scans/page.bin"),
    Request("PUT", "/files/done/scans/page.bin", body=b"anew"),
    Request("GET", "/files"),
)
