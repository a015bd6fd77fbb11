"""What the bot says to people in Slack besides the answer itself; all of it ours."""

from __future__ import annotations

HELP = (
    "*/triage* and what a failing job printed, or what it does in your words: what it is, why, and what "
    "resolved such cases.\n"
    "*/triage* alone opens a box for longer logs and files. "
    "*/triage* with a link to a Slack file reads that file.\n"
    "On any message: _More actions_, then _Triage this message_.\n"
    "Only you see the answer until you press _Share_. "
    "After sharing, reply in its thread with what the diagnostics script printed, and the answer is updated."
)
NO_PAGES = (
    "I read text and Slack files, no web pages. Please paste the log, or upload it here and link the file."
)
NOT_OPENED = "The text box could not be opened. Write */triage* and the text in one line, or try again."
NO_LONGER_KEPT = "This answer is no longer kept. Please triage the report again."
NOTHING_TO_READ = "There is no text to read in this message."
TOO_LITTLE = "This says too little to triage. Please paste what the job printed, or say what it did."
NOT_YOURS = "Only the person who asked can do this before the answer is shared."
ALREADY_SHARED = "This answer has been shared already; please look in the conversation."
NO_RESULT_HERE = (
    "This is a diagnostics result, and I know of no triage that it belongs to: none of this thread, "
    "and none of yours in this conversation within the last day."
)
NOT_SHARED = (
    "I may not post in this conversation. Add the app to it (Integrations, Add apps) and share again."
)
NO_SCRIPT = "There is no script for this report: no cause is left that a check could tell apart."
SCRIPT_SENT = (
    "The script is in your messages with this app. Run it the way you run the job, then share this answer "
    "and reply in its thread with what the script prints."
)
SCRIPT_PERHAPS_SENT = (
    "Slack did not say whether the script arrived. Please look in your messages with this app, "
    "and press the button again if it is not there."
)
SCRIPT_NOT_SENT = (
    "The script could not be sent: the app needs the scopes files:write and im:write here. "
    "On a command line it comes from: bot triage FILE --out-script diagnose.sh"
)
SCRIPT_COMMENT = "Save as diagnose.sh and run sh diagnose.sh the way you run the job. It only reads."
STORED = "Thank you. Your correction is stored, and the answer now shows it."
FAILED = (
    "Something in me broke over this text, several times. It is noted for whoever operates me. I am sorry."
)
TRY_AGAIN = "I cannot take this right now. Please try again in a minute."


def slow_down(limit: int, seconds: float) -> str:
    """The friendly refusal above the rate limit."""
    wait = max(1, round(seconds))
    return (
        f"This workspace has asked {limit} times within a minute, which is as fast as I can read. "
        f"Please try again in {wait} {'second' if wait == 1 else 'seconds'}."
    )
