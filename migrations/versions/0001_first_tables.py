"""Create all tables, the view scores, the macro custext_distribution, and the shipped stopwords."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Spelled out: what a revision creates must not change with later versions of the package.
_STOPWORDS = """
i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his himself
she she's her hers herself it it's its itself they them their theirs themselves what which who whom this that that'll
these those am is are was were be been being have has had having do does did doing a an the and but if or because as
until while of at by for with about against between into through during before after above below to from up down in
out on off over under again further then once here there when where why how all any both each few more most other some
such no nor not only own same so than too very s t can will just don don't should should've now d ll m o re ve y ain
aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma mightn
mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't weren weren't won won't wouldn wouldn't
"""


def upgrade() -> None:
    op.execute(Path(__file__).with_name("0001.sql").read_text().replace("{schema}", ""))
    words = " ".join(_STOPWORDS.split()).replace("'", "''")
    source = "NLTK stopwords corpus, the list of 179 words"
    op.execute(f"INSERT INTO stopwords SELECT 'english', unnest(string_split('{words}', ' ')), '{source}'")
