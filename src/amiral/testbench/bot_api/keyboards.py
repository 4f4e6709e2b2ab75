"""Buttons below a message, checked as the server does it."""

from amiral.testbench.bot_api.wire import Json, Parameters, bad_request

MOST_DATA = 64
_MOST_BUTTONS = 100
_KINDS = ("url", "callback_data", "web_app", "copy_text", "switch_inline_query", "pay")


def keyboard(parameters: Parameters) -> Json | None:
    """Give `reply_markup`, None without one or without buttons; raises a Refusal."""
    markup = parameters.document("reply_markup", "reply keyboard markup")
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad_request("Object expected as reply markup")
    if "inline_keyboard" not in markup:
        return None
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request('Field "inline_keyboard" must be an Array of Arrays')
    buttons = [button for row in rows for button in row]
    for button in buttons:
        _check(button)
    if len(buttons) > _MOST_BUTTONS:
        raise bad_request("reply markup is too long")
    kept = [row for row in rows if row]
    return {"inline_keyboard": kept} if kept else None


def _check(button: object) -> None:
    if not isinstance(button, dict):
        raise bad_request(
            "Can't parse inline keyboard button: InlineKeyboardButton must be an Object"
        )
    if not str(button.get("text", "")).strip():
        raise bad_request("Inline keyboard button text must be non-empty")
    if not any(button.get(kind) for kind in _KINDS):
        raise bad_request("Text buttons are unallowed in the inline keyboard")
    data = button.get("callback_data", "")
    if data and len(data.encode()) > MOST_DATA:
        raise bad_request("BUTTON_DATA_INVALID")
