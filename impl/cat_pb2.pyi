from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Txs(_message.Message):
    __slots__ = ("txs",)
    TXS_FIELD_NUMBER: _ClassVar[int]
    txs: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, txs: _Optional[_Iterable[bytes]] = ...) -> None: ...

class SeenTx(_message.Message):
    __slots__ = ("tx_key", "sequence", "signer")
    TX_KEY_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SIGNER_FIELD_NUMBER: _ClassVar[int]
    tx_key: bytes
    sequence: int
    signer: bytes
    def __init__(self, tx_key: _Optional[bytes] = ..., sequence: _Optional[int] = ..., signer: _Optional[bytes] = ...) -> None: ...

class WantTx(_message.Message):
    __slots__ = ("tx_key",)
    TX_KEY_FIELD_NUMBER: _ClassVar[int]
    tx_key: bytes
    def __init__(self, tx_key: _Optional[bytes] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("txs", "seen_tx", "want_tx")
    TXS_FIELD_NUMBER: _ClassVar[int]
    SEEN_TX_FIELD_NUMBER: _ClassVar[int]
    WANT_TX_FIELD_NUMBER: _ClassVar[int]
    txs: Txs
    seen_tx: SeenTx
    want_tx: WantTx
    def __init__(self, txs: _Optional[_Union[Txs, _Mapping[str, object]]] = ..., seen_tx: _Optional[_Union[SeenTx, _Mapping[str, object]]] = ..., want_tx: _Optional[_Union[WantTx, _Mapping[str, object]]] = ...) -> None: ...
