"""Advice is cut down to what fits the report's frameworks, tools and releases."""

from __future__ import annotations

from knowledge.evidence import Reading, read_report
from knowledge.findings.failure import load_catalogue
from knowledge.findings.fitting import fit, sentences, trimmed
from knowledge.report import Report
from tests.knowledge.findings.tiny import TABLE, entry


def of(id: str, text: str) -> Reading:
    return read_report(Report(id, "It fails", text), TABLE)


HOROVOD = of("horovod/horovod#1", "RuntimeError at step 3, TensorFlow 2.4")
LIGHTNING = of("Lightning-AI/pytorch-lightning#1", "RuntimeError at step 3")


def test_sentences_are_not_cut_in_code_or_parentheses() -> None:
    text = "Run `a; b. c` first (see x. y). Then stop; or wait, e.g. for a day."
    assert sentences(text) == ["Run `a; b. c` first (see x. y).", "Then stop;", "or wait, e.g. for a day."]


def test_a_sentence_about_another_framework_is_left_out() -> None:
    one = entry(
        "a", answer="The rank waits. Give all ranks equal steps. In Lightning set `limit_train_batches`."
    )
    assert fit(one, HOROVOD).entry.answer == "The rank waits. Give all ranks equal steps."
    assert fit(one, LIGHTNING).entry.answer == one.answer


def test_a_parenthesis_keeps_what_fits() -> None:
    one = entry("a", answer="It is small. Raise it on every node (`ulimit -n 65535`; Slurm: `--propagate`).")
    assert fit(one, HOROVOD).entry.answer == "It is small. Raise it on every node (`ulimit -n 65535`)."


def test_a_sentence_that_names_one_tool_in_use_stays() -> None:
    text = "Ranks differ. Start it with `horovodrun` or `torchrun`."
    assert fit(entry("a", answer=text), HOROVOD).entry.answer == text


def test_alternatives_that_do_not_fit_go() -> None:
    fits = lambda text: "Lightning" not in text  # noqa: E731
    assert trimmed("Set `a=1`, or use Lightning's `b`.", fits) == "Set `a=1`."
    assert trimmed("Use Lightning's `b`.", fits) == ""
    assert trimmed("Set it; with Lightning set b. Then go.", fits) == "Set it. Then go."


def test_an_answer_without_its_remedy_does_not_stand_alone() -> None:
    one = entry(
        "a", answer="The rank waits. In Lightning set `limit_train_batches`, or give it more time there."
    )
    assert not fit(one, HOROVOD).whole
    assert fit(one, LIGHTNING).whole


def test_where_no_framework_is_known_nothing_is_foreign() -> None:
    one = entry("a", answer="The rank waits. In Lightning set `limit_train_batches`.")
    assert fit(one, of("x/y#1", "It hangs.")).entry.answer == one.answer


def test_answers_of_the_catalogue_fit_reports_of_their_own_framework() -> None:
    for one in load_catalogue().values():
        if one.frameworks == ("horovod",):
            assert fit(one, of("horovod/horovod#1", "It fails with PyTorch and TensorFlow.")).whole, one.id


def test_a_sentence_that_points_back_goes_with_the_one_before() -> None:
    def fits(clause: str) -> bool:
        return "dynamo" not in clause

    text = "List the reasons with dynamo. The one that shows up most often is the cause. Then restart."
    assert trimmed(text, fits) == "Then restart."
    assert trimmed("Restart. It helps. List with dynamo.", fits) == "Restart. It helps."


def test_a_failure_of_a_later_release_is_not_said() -> None:
    one = entry("one", answer="From torch 2.1 on, the call hangs. Set a timeout.")
    assert not fit(one, of("pytorch/pytorch#1", "It hangs with torch 1.4.0.")).whole
    assert fit(one, of("pytorch/pytorch#1", "It hangs with torch 2.3.0.")).whole


OLD_TORCH = of("pytorch/pytorch#1", "It hangs with torch 1.4.0.")


def test_advice_goes_with_the_release_that_its_parenthesis_asks_for() -> None:
    one = entry(
        "a", answer="It's slow. Set `a=1` (PyTorch 2.1 and later). Use `b` (torch 2.1 or later; before, `c`)."
    )
    assert fit(one, OLD_TORCH).entry.answer == "It's slow."
    assert fit(one, of("pytorch/pytorch#1", "It hangs with torch 2.3.0.")).entry.answer == one.answer


def test_what_follows_a_command_or_a_cause_goes_with_it() -> None:
    one = entry(
        "a",
        why=(
            "**You use Lightning.** The loss is NaN.",
            "**A rank died.** Lightning only says so. Memory ran out.",
        ),
        check=("`python -c 'import lightning'`: it prints a number. Only load files you trust.",),
        remedy=(
            "Upgrade Lightning. Many users report this works.",
            "In Lightning, set a. With Horovod, set b.",
        ),
    )
    fitted = fit(one, HOROVOD).entry
    assert fitted.why == ("**A rank died.** Memory ran out.",)
    assert fitted.check == ()
    assert fitted.remedy == ("With Horovod, set b.",)


def test_a_list_is_not_cut_into_something_else() -> None:
    fits = lambda text: "Lightning" not in text  # noqa: E731
    assert trimmed("**Your code adds, prints, or runs Lightning like a tensor.**", fits) == ""
    assert trimmed("If it's slow, or Lightning waits, keep `a=1`.", fits) == ""
    assert trimmed("**It's small, or Lightning is.** Raise it.", fits) == "**It's small.** Raise it."
    assert trimmed("Set it (with the Trainer, Lightning's `a`).", fits) == "Set it."
    assert trimmed("It ends (Lightning too, but not at once).", fits) == "It ends."
    assert trimmed("With Lightning, call `a`; without it, set b.", fits) == ""
    assert trimmed("Lightning 2 does; older ones do neither. Go.", fits) == "Go."
    assert trimmed("Save with f(model, Lightning.g(x)). Go.", fits) == "Go."
