"""Without its framework, an integration names the extra that installs it.

The frameworks are installed for `tests/integrations` only.
"""

from importlib import import_module

import pytest


@pytest.mark.parametrize("framework", ["langchain", "llama-index", "haystack"])
def test_an_integration_without_its_framework_names_the_extra(framework: str) -> None:
    module = f"surefind.interfaces.integrations.{framework.replace('-', '_')}"
    with pytest.raises(ImportError, match=rf"pip install 'surefind\[{framework}\]'"):
        import_module(module)
