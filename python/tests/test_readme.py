from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Service

README = Path(__file__).parent.parent / "README.md"


def test_its_first_example_ends_with_a_proof(
    service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVEC_KEY", service.key)
    monkeypatch.setenv("AUTHORITY", service.authority)
    monkeypatch.setenv("LEDGER", service.rpc_url)
    found = re.search(r"```python prove\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    code = found[1].replace("http://127.0.0.1:8080", service.url)
    exec(code, {})
    assert capsys.readouterr().out == "a\npresent\n"
