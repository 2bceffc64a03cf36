"""Keys: made once, known again, worthless when revoked."""

import pytest

from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.files.key_file import KeyFile
from surefind.errors import InputError
from surefind.model import Scope
from surefind.services.serving.keys import Keyring, Keys


async def test_a_key_is_known_by_its_secret_which_is_kept_nowhere(folder: DataFolder) -> None:
    keys, ring = Keys(KeyFile(folder)), Keyring(KeyFile(folder))
    made, secret = await keys.create("site", Scope.READ)
    assert secret.startswith(f"surefind_{made.id}_")
    assert len(secret) >= 60
    found = await ring.find(secret)
    assert found == made
    assert (
        secret.removeprefix(f"surefind_{made.id}_") not in (folder.root / "keys.json").read_text()
    )
    for wrong in (secret[:-1], secret + "x", secret.upper(), "", "\ud800", made.digest, made.id):
        assert await ring.find(wrong) is None


async def test_no_two_keys_are_alike(folder: DataFolder) -> None:
    keys = Keys(KeyFile(folder))
    made = [await keys.create(f"key {number}", Scope.READ) for number in range(20)]
    assert len({secret for _, secret in made}) == 20
    assert [key.name for key in await keys.list()] == [f"key {number}" for number in range(20)]


async def test_a_ring_learns_of_new_keys_and_of_revoked_ones(folder: DataFolder) -> None:
    keys, ring = Keys(KeyFile(folder)), Keyring(KeyFile(folder))
    assert not await ring.requires_key()
    first, secret = await keys.create("first", Scope.READ)
    assert await ring.requires_key()
    _, other = await keys.create("second", Scope.ADMIN)
    assert await keys.revoke(first.id) == first
    assert await ring.find(secret) is None
    assert await ring.find(other) is not None
    await keys.revoke("second")
    assert await ring.find(other) is None
    assert await ring.requires_key(), "taking the last key away must not open a running server"
    assert not await Keyring(KeyFile(folder)).requires_key()


async def test_a_ring_that_is_closed_asks_for_keys_that_do_not_exist(folder: DataFolder) -> None:
    ring = Keyring(KeyFile(folder))
    ring.always_require_key()
    assert await ring.requires_key()


@pytest.mark.parametrize("name", ["", " ", "x" * 65, "two\nlines", "\x1b[31m"])
async def test_a_name_is_short_and_printable(folder: DataFolder, name: str) -> None:
    with pytest.raises(InputError, match="name must be"):
        await Keys(KeyFile(folder)).create(name, Scope.READ)


async def test_a_name_is_given_once_and_only_known_keys_are_revoked(folder: DataFolder) -> None:
    keys = Keys(KeyFile(folder))
    await keys.create("site", Scope.READ)
    with pytest.raises(InputError, match="'site' already"):
        await keys.create("site", Scope.ADMIN)
    with pytest.raises(InputError, match="no key 'nobody'"):
        await keys.revoke("nobody")
