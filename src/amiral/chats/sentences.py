"""Pure: what amiral itself says in chats, in English and French."""

from enum import StrEnum
from typing import Final


class Sentence(StrEnum):
    """One thing to say, named by its English words."""

    FORWARDED = "A forwarded message gives no orders: nothing was done."
    EXPIRED = "This button counts no more: nothing was done."
    USED = "This was answered already, by {by}."
    DONE = "✓"
    STALE = "This order is {age} old. Shall it still be carried out?"
    CARRY_OUT = "Carry it out"
    MEANT = "Yes: {text}"
    PAIRED = "✓ You are {role} from now on. /help lists what you may ask for."
    NO_CODE = "This code does not count (any more): amiral pair makes a new one."
    FILES = "Files cannot be taken yet: write what is in them."


FRENCH: Final[dict[Sentence, str]] = {
    Sentence.FORWARDED: "Un message transféré ne donne pas d'ordre : rien n'a été fait.",
    Sentence.EXPIRED: "Ce bouton ne compte plus : rien n'a été fait.",
    Sentence.USED: "Cela a déjà reçu une réponse, de {by}.",
    Sentence.DONE: "✓",
    Sentence.STALE: "Cet ordre date de {age}. Faut-il encore l'exécuter ?",
    Sentence.CARRY_OUT: "L'exécuter",
    Sentence.MEANT: "Oui : {text}",
    Sentence.PAIRED: "✓ Vous êtes {role} désormais. /help dit ce que vous pouvez demander.",
    Sentence.NO_CODE: "Ce code ne compte pas (ou plus) : amiral pair en fait un nouveau.",
    Sentence.FILES: "Les fichiers ne peuvent pas encore être pris : écrivez ce qu'ils contiennent.",
}


def say(sentence: Sentence, language: str, **words: str) -> str:
    """Say it in `language` (`fr`, else English), with its words filled in."""
    text = FRENCH[sentence] if language == "fr" else sentence.value
    return text.format(**words)
