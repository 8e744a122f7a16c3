"""Examples of every command, for its help."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "evaluate": (
        "scorer evaluate qrels.txt run-a.txt",
        "scorer evaluate qrels.txt run-a.txt run-b.txt -m AP,nDCG@10,RR --sort",
        "scorer evaluate qrels.txt run-a.txt -m official -q --format trec",
        "scorer evaluate qrels.txt run-a.txt run-b.txt -m nDCG@10 --format latex --significance 0.05",
    ),
    "trec_eval": (
        "scorer trec_eval qrels.txt run-a.txt",
        "scorer trec_eval -q -c -m map -m P.5,10 qrels.txt run-a.txt",
        "scorer trec_eval -m all_trec -l 2 -J -M 100 qrels.txt run-a.txt",
    ),
    "compare": (
        "scorer compare run-a.txt run-b.txt --solution qrels.txt -m nDCG@10",
        "scorer compare first-team most-popular --track main --challenge challenge",
        "scorer compare run-a.txt run-b.txt --solution qrels.txt -m AP --format latex",
    ),
    "fuse": (
        "scorer fuse run-a.txt run-b.txt -o fused.txt",
        "scorer fuse run-a.txt run-b.txt --method combmnz --norm min-max --depth 1000 -o fused.parquet",
        "scorer fuse run-a.txt run-b.txt --method wsum --solution qrels.txt -m AP -o fused.txt",
    ),
    "overlap": (
        "scorer overlap run-a.txt run-b.txt",
        "scorer overlap run-a.txt run-b.txt -m rbo,jaccard@10 --format csv",
    ),
    "report": (
        "scorer report challenge",
        "scorer report values.csv --format markdown",
        "scorer report run-a.txt run-b.txt --solution qrels.txt -m nDCG@10",
        "scorer report errors.csv --smaller-is-better --na drop -o report.html",
    ),
    "convert": (
        "scorer convert run-a.txt run-a.parquet",
        "scorer convert qrels.txt qrels.jsonl.gz",
        "scorer convert run.csv new.run --kind submission --from delimited:query=session,item=track",
        "scorer convert run-a.txt - --to vlnet --ties trec",
    ),
    "measures": ("scorer measures", "scorer measures nDCG", "scorer measures 'AP(rel=2)@5'"),
    "check": (
        "scorer check lists.txt --track main",
        "scorer check run.csv --track main --submission-format delimited:query=session,item=track",
    ),
    "submit": (
        "scorer submit lists.txt --track main --server https://example.org/challenge --wait",
        "scorer submit run.csv --track main --server https://example.org/challenge --token-file token.txt",
    ),
    "verify": (
        "scorer verify log site/log.jsonl",
        "scorer verify receipt receipt.txt --key key.txt --log site/log.jsonl",
        "scorer verify bundle challenge.zip",
    ),
    "init": ("scorer init challenge",),
    "run": (
        "scorer run",
        "scorer run challenge --track main",
        "scorer run challenge --executor processes:4 --time-limit 120",
        "scorer run challenge --watch",
    ),
    "score": ("scorer score", "scorer score challenge --track main --verify-files"),
    "render": ("scorer render", "scorer render challenge --as-of 2011-04-18T10:00:00Z"),
    "leaderboard": (
        "scorer leaderboard",
        "scorer leaderboard challenge --track main --format csv",
        "scorer leaderboard challenge --as-of 2011-04-18T10:00:00Z",
    ),
    "status": ("scorer status", "scorer status challenge"),
    "entries": ("scorer entries", "scorer entries challenge --track main"),
    "collect": (
        "scorer collect inbox",
        "scorer collect /srv/inbox challenge --track main",
        "scorer collect s3://challenge-inbox/main --track main",
    ),
    "serve": ("scorer serve", "scorer serve challenge --port 8080 --proxy 127.0.0.1"),
    "phases": (
        "scorer phases",
        'scorer phases extend final --end 2011-07-15T12:00:00Z --reason "The server was down for a day"',
    ),
    "teams": (
        "scorer teams",
        'scorer teams merge first-team second-team --reason "One person submitted for both"',
        "scorer teams set first-team affiliation=University code=https://example.org/code",
        "scorer teams invite first-team --server https://example.org/challenge",
    ),
    "pick": (
        "scorer pick main/first-team/run-3.txt main/first-team/run-7.txt",
        "scorer pick --clear --track main --team first-team",
    ),
    "erratum": (
        "scorer erratum preview --track main",
        'scorer erratum apply --track main --reason "Query q7 had a wrong grade"',
        "scorer erratum cancel --track main",
    ),
    "amend": (
        'scorer amend main/first-team/run.txt --received 2011-04-18T10:00:00Z --reason "Received by e-mail"',
        'scorer amend 5f0c3a91 --received 2011-04-18T12:00:00+02:00 --reason "Wrong time in the name of the file"',
    ),
    "forget": ('scorer forget main/first-team/run.txt --reason "The disk was full"',),
    "retry": ("scorer retry", "scorer retry main/first-team/run.txt --challenge challenge"),
    "split": ("scorer split", "scorer split --challenge challenge"),
    "commit": ("scorer commit", "scorer commit challenge"),
    "receipt": (
        "scorer receipt main/first-team/run.txt -o receipt.txt",
        "scorer receipt --all receipts --track main",
    ),
    "reveal": ("scorer reveal", "scorer reveal --track main --challenge challenge"),
    "export": ("scorer export challenge.zip", "scorer export everything.zip --solutions --files"),
    "import": (
        "scorer import challenge.zip challenge",
        "scorer import challenge.zip challenge --database postgresql+psycopg://scorer@localhost/challenge",
    ),
    "doctor": ("scorer doctor", "scorer doctor challenge --repair"),
    "completion": (
        "scorer completion bash > ~/.local/share/bash-completion/completions/scorer",
        "scorer completion zsh > ~/.zfunc/_scorer",
        "scorer completion fish > ~/.config/fish/completions/scorer.fish",
    ),
}
