"""What to do about a fault: advice texts per fix pattern, and the cases that support them."""

from knowledge.fixes.advice import FixText, advice_text, load_fix_texts, support

__all__ = ["FixText", "advice_text", "load_fix_texts", "support"]
