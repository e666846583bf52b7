"""The examples on pages of rules about listeners: what one owes and serves, in a few words, is what the tests judge.

An example is objects, and a mapping in YAML of what is observed. What it does not mention is that of a listener without
fault which owes Intermediate (``cases.case``); each of its words is a function that changes that one thing.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from scanner.model.rule import Case
from scanner.values import replace
from tests.judge.cases import case
from tests.judge.drafts import Draft, Word
from tests.judge.words_configured import words
from tests.judge.words_declared import DECLARED
from tests.judge.words_http import HTTP
from tests.judge.words_owed import OWED
from tests.judge.words_placed import PLACED
from tests.judge.words_served import SERVED
from tests.judge.words_witness import WITNESSED

TABLES: tuple[Mapping[str, Word], ...] = (SERVED, OWED, WITNESSED, DECLARED, HTTP, PLACED)
WORDS: Mapping[str, Word] = {word: change for table in TABLES for word, change in table.items()}


def case_of(text: str) -> Case:
    """The case that an example describes. Raises ``KeyError`` for a word that nobody knows."""
    draft = Draft()
    documents = list(yaml.safe_load_all(text))
    observed = {word: value for each in documents if "kind" not in each for word, value in each.items()}
    configured = words((each for each in documents if "kind" in each), observed)
    for word, value in (*configured.items(), *observed.items()):
        WORDS[word](draft, value)
    made = case(
        observation=draft.observation, expectation=draft.expectation, endpoint=draft.endpoint, policy=draft.policy
    )
    return replace(made, opinion=draft.opinion)
