"""What the reference does that changes results and is held to be a defect: one named switch each, on as it is there."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Switches(BaseModel):
    """On is the reference's behaviour; each says what off does. (f-N): its number in the list of known defects."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    target_by_score: bool = True
    """(f-1) The most extreme score is the target. Off: the latest reply, and no score is asked of a post."""
    half_of_positives: bool = True
    """(f-9) The lower half of the positive items is thrown away. Off: all are kept."""
    tree_unsent: bool = True
    """(f-3) Sentiment and impact never send the stored thread. Off: it stands in the prompts that promise it."""
    impact_unmasked: bool = True
    """(f-2) That stored thread shows the target's score in impact. Off: it is hidden, as in sentiment."""
    sign_hint: bool = True
    """(f-4) Impact is told the sign of the score. Off: it is not."""
    later_shown: bool = True
    """(f-5) Messages and examples later than the target are shown. Off: nothing at or after its moment is."""
    scores_shown: bool = True
    """(f-5) Final scores of posts and messages are shown. Off: none but an example's answer is."""
    example_holds_target: bool = True
    """(f-6) The thread of a generation example may hold the true text. Off: target and replies to it are cut out."""
    author_unnamed: bool = True
    """(f-17) Generation prompts do not say who is to write. Off: they do."""
    unrelated_uncut: bool = True
    """NP-Conv generation shows the other post whole. Off: its own latest reply is cut out, as was meant."""
    post_as_parent_blank: bool = True
    """NP-Conv generation shows no text for a parent that is the post. Off: the post's text stands there."""

    def named(self) -> dict[str, bool]:
        """As a row of results keeps them."""
        return self.model_dump()
