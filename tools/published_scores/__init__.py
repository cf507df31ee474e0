"""The published verdicts on peer scores, beside ours."""
