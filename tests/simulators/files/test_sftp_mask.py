"""The user name is a drop's secret address: it is masked in the log wherever a client writes it."""

import asyncssh
import pytest

from clerkship.sandbox.handle import Refused
from tests.simulators.files.conftest import Serve
from tests.simulators.files.test_sftp import get, list_inbox, put, run_client


def test_user_name_in_path_is_masked_in_log(serve: Serve) -> None:
    drop = serve()
    for user in (drop.user, drop.user.upper(), drop.user.title()):

        async def work(sftp: asyncssh.SFTPClient, user: str = user) -> None:
            for refused in (
                sftp.open(f"nope/{user}/a", "wb"),
                sftp.open(f"inbox/{user}", "rb"),
                sftp.remove(user),
                sftp.listdir(f"home/{user}"),
                sftp.rename(f"inbox/{user}", f"/{user}/x"),
                sftp.utime(f"inbox/{user}", (1, 1)),
                sftp.mkdir(f"{user}/sub"),
            ):
                with pytest.raises((asyncssh.SFTPNoSuchFile, asyncssh.SFTPFailure)):
                    await refused
            await sftp.mkdir(user)
            await put(sftp, f"{user}/{user}.csv", b"1")
            assert await get(sftp, f"{user}/{user}.csv") == b"1"
            assert (await sftp.stat(f"{user}/{user}.csv")).size == 1
            assert await sftp.listdir(user) == [".", "..", "[address].csv"]
            await sftp.rename(f"{user}/{user}.csv", f"inbox/of-{user}.csv")
            assert await list_inbox(sftp) == ["of-[address].csv"]
            await sftp.remove(f"inbox/of-{user}.csv")
            await sftp.rmdir(user)

        run_client(drop, work)
    for query in ({"prefix": f"inbox/{drop.user}"}, {"after": f"{drop.user}.csv"}):
        drop.handle.request("GET", "/files", query=query)
    with pytest.raises(Refused):
        drop.handle.request("POST", "/rename", body=f'{{"{drop.user}": 1}}'.encode())
    assert drop.user.encode() not in drop.playground.log.data().lower()
    assert b"there is no folder nope/[address]" in drop.playground.log.data()


def test_name_with_line_end_is_refused(serve: Serve) -> None:
    async def work(sftp: asyncssh.SFTPClient) -> None:
        for refused in (sftp.open("inbox/a\nb", "wb"), sftp.stat("inbox/a\nb"), sftp.listdir("a\n")):
            with pytest.raises(asyncssh.SFTPFailure, match="control characters"):
                await refused

    run_client(serve(), work)
