"""What the bot says to people in Slack besides the answer itself; all of it ours."""

from __future__ import annotations

HELP = (
    "*/triage* followed by a failing job's output, or a description of the failure: what it is, why it "
    "happens, and what fixed similar cases.\n"
    "*/triage* alone opens a box for longer logs and files. "
    "*/triage* with a link to a Slack file reads that file.\n"
    "On any message: _More actions_, then _Triage this message_.\n"
    "Only you see the answer until you press _Share_. "
    "After sharing, reply in its thread with logs or what the diagnostics script printed, and the answer is updated."
)
NO_PAGES = "I can read text and Slack files, but not web pages. Please paste the log, or upload it here and link to it."
NOT_OPENED = "The text box could not be opened. Put */triage* and the text on one line, or try again."
NO_LONGER_KEPT = "This answer has expired. Please triage the report again."
NOTHING_TO_READ = "There is no text to read in this message."
TOO_LITTLE = "There is too little here to triage. Please paste the job's output, or describe what it did."
NOT_YOURS = "Only the person who asked can do this before the answer is shared."
ALREADY_SHARED = "This answer has already been shared; please look in the conversation."
NO_RESULT_HERE = (
    "This is a diagnostics result, but I can't find the triage that it belongs to: there is none in this "
    "thread, and none of yours in this conversation in the last day."
)
NOT_SHARED = "I'm not allowed to post in this conversation. Add the app to it (Integrations, Add apps) and share again."
NO_SCRIPT = "There is no script for this report: no check could narrow the causes down further."
SCRIPT_SENT = (
    "The script is in your messages with this app. Run it the way you run the job, then share this answer "
    "and reply in its thread with the script's output."
)
SCRIPT_PERHAPS_SENT = (
    "Slack did not confirm that the script was sent. Please check your messages with this app, "
    "and press the button again if it isn't there."
)
SCRIPT_NOT_SENT = (
    "The script could not be sent: the app needs the scopes files:write and im:write here. "
    "To write it from a command line: bot triage FILE --out-script diagnose.sh"
)
SCRIPT_COMMENT = "Save it as diagnose.sh and run sh diagnose.sh the way you run the job. It is read-only."
STORED = "Thank you. Your correction is saved and shown in the answer."
STORED_SAME = "Thank you. It is saved as a vote that these issues show the same failure."
NO_ISSUE = "Write the issue's number, or its link."
FAILED = "Sorry, I failed on this text several times. The error is logged for the people who run this app."
TRY_AGAIN = "I can't take requests right now. Please try again in a minute."


def slow_down(limit: int, seconds: float) -> str:
    """The friendly refusal above the rate limit."""
    wait = max(1, round(seconds))
    return (
        f"This workspace has made {limit} requests in the last minute, which is the limit. "
        f"Please try again in {wait} {'second' if wait == 1 else 'seconds'}."
    )
