"""What a child must not say: keys and names that the seam does not have, and times that it was not given."""

from __future__ import annotations

import json

import pytest

from quidnunc.impl.seam import AdapterError
from quidnunc.impl.seam.sidecar import open_exec
from quidnunc.impl.seam.sidecar_json import HELLO_KEYS, REPLY_KEYS, hello_of
from tests.helpers.seam_schema import SCHEMA, fits, of
from tests.impl.seam.test_sidecar import CONFIG, READ_ONE, child

ANSWERED = {"name": "x", "version": "1", "protocols": [], "format": 1}
READ = "sys.stdin.readline()"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"hello": {**ANSWERED, "capabilties": ["raw"]}},
            r"unknown key 'capabilties' \(did you mean 'capabilities'",
        ),
        ({"hello": ANSWERED, "agian": True}, r"unknown key 'agian' \(did you mean 'again'"),
        ({"hello": {**ANSWERED, "fixed": {"d": "3"}}}, "hello.fixed.d: need float, got str"),
    ],
)
def test_hello_that_is_wrong(change: dict[str, object], says: str) -> None:
    assert hello_of({"hello": ANSWERED, "again": True}).name == "x"
    assert not fits(change, of("answer"))
    with pytest.raises(AdapterError, match=says):
        hello_of(change)


def test_the_keys_are_those_of_the_schema() -> None:
    assert set(SCHEMA["$defs"]["hello"]["properties"]["hello"]["properties"]) == HELLO_KEYS
    assert set(SCHEMA["$defs"]["reply"]["properties"]) == REPLY_KEYS


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"capabilities": ["Raw", "scores"]}, "no capability 'Raw' .did you mean 'raw'.., 'scores'"),
        ({"fixed": {"Dlow": 3}}, "hello.fixed: no parameter 'Dlow' .did you mean 'd_low'"),
        ({"fixed": {"d_low": 2.5}}, "hello.fixed.d_low: need a whole number, got 2.5"),
    ],
)
def test_child_whose_hello_names_what_there_is_not(more: dict[str, object], says: str) -> None:
    answer = json.dumps({"hello": {**ANSWERED, **more}})
    with pytest.raises(AdapterError, match=f"(?s)at request .*no hello: .*{says}"):
        open_exec(child(f"{READ_ONE}; say({answer!r}); {READ}"), CONFIG)


@pytest.mark.parametrize(
    ("capabilities", "t_ms", "fine"), [([], 3, True), (["clock"], 3, False), ([], -5, False)]
)
def test_child_whose_time_is_not_what_it_was_promised_to_be(
    capabilities: list[str], t_ms: int, fine: bool
) -> None:
    answer = json.dumps({"hello": {**ANSWERED, "capabilities": capabilities}})
    program = f"{READ_ONE}; say({answer!r}); {READ}; say('{{\"t\": {t_ms}}}'); {READ}"
    driver = open_exec(child(program), CONFIG)
    if fine:
        assert driver.advance(500).t_ms == t_ms
    else:
        with pytest.raises(AdapterError, match=f"breaks the schema: reply.t: .*{t_ms}"):
            driver.advance(500)
    driver.close()
