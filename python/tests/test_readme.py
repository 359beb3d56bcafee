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
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    code = found[1].replace("http://127.0.0.1:8080", service.url)
    exec(code, {"authority": service.authority, "rpc_url": service.rpc_url})
    assert capsys.readouterr().out == "present\n"
