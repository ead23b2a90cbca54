"""Where a store is: a SQLite file, or a database of PostgreSQL."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

_SCHEMES = ("postgresql", "postgres")
OWN_FOLDER = Path(".clerkship")
"""The folder for the files of stores that are not files."""


@dataclass(frozen=True)
class PostgresAddress:
    """The address of a store in PostgreSQL. Its password is not shown."""

    url: str = field(repr=False)

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        user, at, host = parts.netloc.rpartition("@")
        netloc = f"{user.partition(':')[0]}{at}{host}"
        options = "&".join(each for each in parts.query.split("&") if not each.lower().startswith("password="))
        return urlunsplit(parts._replace(netloc=netloc, query=options))

    @property
    def password(self) -> str:
        """The password in the address; empty if it has none."""
        parts = urlsplit(self.url)
        found = parts.netloc.rpartition("@")[0].partition(":")[2]
        for option in parts.query.split("&"):
            name, _, value = option.partition("=")
            found = value if name.lower() == "password" else found
        return unquote(found)


StorePlace = Path | PostgresAddress


def parse_store_place(text: str) -> StorePlace:
    """Return the place that `--store` names: an address of PostgreSQL, or a path."""
    return PostgresAddress(text) if text.partition("://")[0] in _SCHEMES and "://" in text else Path(text)


def get_store_file(place: StorePlace) -> Path:
    """Return the file of a store; of one that is no file, the path beside which its private folders are."""
    return place if isinstance(place, Path) else OWN_FOLDER / "store.db"


def get_store_folder(place: StorePlace) -> Path:
    """Return the folder of the files that belong to a store, such as reports."""
    return get_store_file(place).parent
