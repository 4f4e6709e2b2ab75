"""Pure: what amiral itself says in chats, in English and French."""

from enum import StrEnum
from typing import Final


class Sentence(StrEnum):
    """One thing to say, named by its English words."""

    FORWARDED = "A forwarded message gives no orders: nothing was done. Reply to it with yours."
    EXPIRED = "This button counts no more: nothing was done."
    USED = "This was answered already, by {by}."
    DONE = "✓"
    STALE = "This order is {age} old. Shall it still be carried out?"
    CARRY_OUT = "Carry it out"
    MEANT = "Yes: {text}"
    PAIRED = "✓ You are {role} from now on. /help lists what you may ask for."
    NO_CODE = "This code does not count (any more): amiral pair makes a new one."
    FILES = "Files cannot be taken yet, so nothing was done: write what is in them."
    LOOKING = "✗ viewers may look, not talk to workers: ask the owner"
    NOT_YOURS = "This button is for: {roles}. Nothing was done."
    OTHER_BOT = "✗ That was said by another bot: nothing was done here. Answer it there."
    OTHER_PROJECT = "✗ This chat is about {project} alone: nothing was done."
    STRANGER = "Somebody unknown was not answered: `{who}`. amiral pair lets people in."


FRENCH: Final[dict[Sentence, str]] = {
    Sentence.FORWARDED: (
        "Un message transféré ne donne pas d'ordre : rien n'a été fait. Répondez-y avec le vôtre."
    ),
    Sentence.EXPIRED: "Ce bouton ne compte plus : rien n'a été fait.",
    Sentence.USED: "Cela a déjà reçu une réponse, de {by}.",
    Sentence.DONE: "✓",
    Sentence.STALE: "Cet ordre date de {age}. Faut-il encore l'exécuter ?",
    Sentence.CARRY_OUT: "L'exécuter",
    Sentence.MEANT: "Oui : {text}",
    Sentence.PAIRED: "✓ Vous êtes {role} désormais. /help dit ce que vous pouvez demander.",
    Sentence.NO_CODE: "Ce code ne compte pas (ou plus) : amiral pair en fait un nouveau.",
    Sentence.FILES: (
        "Les fichiers ne peuvent pas encore être pris, donc rien n'a été fait : écrivez ce qu'ils"
        " contiennent."
    ),
    Sentence.LOOKING: (
        "✗ les lecteurs peuvent regarder, pas parler aux agents : demandez au propriétaire"
    ),
    Sentence.NOT_YOURS: "Ce bouton est pour : {roles}. Rien n'a été fait.",
    Sentence.OTHER_BOT: "✗ Un autre bot a dit cela : rien n'a été fait ici. Répondez-lui là-bas.",
    Sentence.OTHER_PROJECT: "✗ Ici on ne parle que de {project} : rien n'a été fait.",
    Sentence.STRANGER: (
        "Un inconnu est resté sans réponse : `{who}`. amiral pair fait entrer les gens."
    ),
}


def say(sentence: Sentence, language: str, **words: str) -> str:
    """Say it in `language` (`fr`, `fr-CA`; English for any other), with its words filled in."""
    text = FRENCH[sentence] if language.lower().partition("-")[0] == "fr" else sentence.value
    return text.format(**words)
