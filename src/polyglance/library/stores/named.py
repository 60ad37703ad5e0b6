"""Opens the store of a library by its settings: LanceDB in its folder, or Milvus elsewhere."""

from pathlib import Path

from polyglance.library.stores.protocol import Store


def store_name(model: str) -> str:
    """Folder name of the store for a model's embeddings."""
    return f"store-{model[:16]}"


def full_address(address: str) -> str:
    """An address of Milvus that does not depend on the working directory."""
    from polyglance.library.stores.milvus_address import Address

    return str(Address.of(address))


def address_beside(address: str, model: str) -> str:
    """Address for the embeddings of another model; "" for a store in the library's folder."""
    from polyglance.library.stores.milvus_address import Address

    return str(Address.of(address).beside(model)) if address else ""


def open_store(folder: Path, name: str, address: str = "") -> Store:
    """Open an existing store.

    Args:
        folder: the library's.
        name: of the store's folder in it.
        address: of a store elsewhere, used instead.
    """
    if address:
        from polyglance.library.stores.milvus import MilvusStore

        return MilvusStore(address)
    from polyglance.library.stores.lance import LanceStore

    return LanceStore(folder / name)


def create_store(folder: Path, name: str, address: str, model: str, dim: int) -> Store:
    """Create an empty store.

    Args:
        folder: the library's.
        name: of the store's folder in it.
        address: of a store elsewhere, used instead; or "".
        model: id of the model of its embeddings.
        dim: their dimension.
    """
    if address:
        from polyglance.library.stores.milvus import MilvusStore

        return MilvusStore.create(address, model, dim)
    from polyglance.library.stores.lance import LanceStore

    return LanceStore.create(folder / name, model, dim)


def has_store(folder: Path, name: str, address: str = "") -> bool:
    """Whether such a store exists.

    Args:
        folder: of the library.
        name: from `store_name`.
        address: of Milvus; "" for a store in the library's folder.
    """
    if address:
        from polyglance.library.stores.milvus import has_collection

        return has_collection(address)
    from polyglance.library.stores.lance import MARK

    return (folder / name / MARK).is_file()
