"""Our own words are there in every language, with the same words to fill in."""

import string

import pytest

from amiral.chats.sentences import FRENCH, Sentence, say


@pytest.mark.parametrize("sentence", list(Sentence), ids=lambda one: one.name)
def test_every_sentence_is_there_in_french_with_its_words(sentence):
    def words(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    assert words(FRENCH[sentence]) == words(sentence.value)
    assert sentence is Sentence.DONE or FRENCH[sentence] != sentence.value


def test_another_language_is_answered_in_english():
    for language in ("fr", "fr-CA", "FR"):
        assert say(Sentence.USED, language, by="Ann") == "Cela a déjà reçu une réponse, de Ann."
    for language in ("de", "fry", "auto", ""):
        assert say(Sentence.USED, language, by="Ann") == "This was answered already, by Ann."
