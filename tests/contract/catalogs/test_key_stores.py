"""What every store of keys promises."""

import asyncio
import json
import stat
from collections.abc import Sequence
from dataclasses import replace

import pytest
from filelock import FileLock

from support.fakes import NOW
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.files.key_file import KeyFile
from surefind.errors import StoreBusy, StoreError
from surefind.model import ApiKey, Scope
from surefind.ports import KeyStore

KEY = ApiKey("0123abcd", "ünïcode", Scope.ADMIN, NOW, "f" * 64)


class KeyStoreContract:
    @pytest.fixture
    def store(self) -> KeyStore:
        raise NotImplementedError

    async def test_there_are_none_at_first(self, store: KeyStore) -> None:
        assert not await store.read()

    async def test_what_was_put_there_is_read_in_its_order(self, store: KeyStore) -> None:
        keys = [replace(KEY, id=str(number)) for number in range(3)]
        await store.change(lambda _: keys)
        assert list(await store.read()) == keys
        await store.change(lambda known: known[1:])
        assert list(await store.read()) == keys[1:]

    async def test_the_token_changes_with_the_keys_and_only_then(self, store: KeyStore) -> None:
        tokens = [await store.token()]
        await store.change(lambda _: [KEY])
        tokens += [await store.token(), await store.token()]
        await store.change(lambda _: [])
        tokens.append(await store.token())
        assert tokens[1] == tokens[2]
        assert len(set(tokens)) == 3

    async def test_a_change_that_fails_changes_nothing(self, store: KeyStore) -> None:
        await store.change(lambda _: [KEY])

        def fail(_keys: Sequence[ApiKey]) -> Sequence[ApiKey]:
            raise LookupError

        with pytest.raises(LookupError):
            await store.change(fail)
        assert list(await store.read()) == [KEY]

    async def test_no_change_is_lost_when_many_come_at_once(self, store: KeyStore) -> None:
        def adding(number: int) -> None:
            asyncio.run(store.change(lambda keys: [*keys, replace(KEY, id=str(number))]))

        await asyncio.gather(*(asyncio.to_thread(adding, number) for number in range(10)))
        assert {key.id for key in await store.read()} == {str(number) for number in range(10)}


class TestKeyFile(KeyStoreContract):
    @pytest.fixture
    def store(self, folder: DataFolder) -> KeyStore:
        return KeyFile(folder)

    async def test_only_its_owner_may_read_it(self, folder: DataFolder) -> None:
        path = folder.root / "keys.json"
        path.write_text('{"keys": []}')
        path.chmod(0o644)
        await KeyFile(folder).change(lambda _: [KEY])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    @pytest.mark.parametrize("content", ["", "{}", '{"keys": [{}]}', '{"keys": [', "\x00"])
    async def test_a_damaged_file_is_an_error_and_never_an_empty_one(
        self, folder: DataFolder, content: str
    ) -> None:
        (folder.root / "keys.json").write_text(content)
        with pytest.raises(StoreError, match="can't be read"):
            await KeyFile(folder).read()

    async def test_a_scope_of_the_future_is_not_a_scope(self, folder: DataFolder) -> None:
        store = KeyFile(folder)
        await store.change(lambda _: [KEY])
        path = folder.root / "keys.json"
        kept = json.loads(path.read_text())
        kept["keys"][0]["scope"] = "emperor"
        path.write_text(json.dumps(kept))
        with pytest.raises(StoreError):
            await store.read()

    async def test_it_does_not_wait_forever(self, folder: DataFolder) -> None:
        store = KeyFile(folder, lock_timeout_s=0.05)
        with FileLock(folder.root / "keys.lock"), pytest.raises(StoreBusy):
            await store.change(lambda _: [])
