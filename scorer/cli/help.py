"""The examples of every command for its help, and the script with which a shell completes commands.

The script is written once and has all words in it, so that completion starts no Python.
"""

from __future__ import annotations

from argparse import Action
from collections.abc import Mapping
from typing import Any, Literal

from scorer.cli.output import print_result
from scorer.cli.parameters import Parser, add_parameters, argument
from scorer.options import FORMAT_NAMES

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
    "pool": (
        "scorer pool run-a.txt run-b.txt --solution qrels.txt --depth 20 -o pool.tsv",
        "scorer pool --track main --challenge challenge --depth 20 -o pool.tsv",
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
        "scorer verify challenge https://example.org/challenge/",
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
    "similar": ("scorer similar challenge --track main",),
    "split": ("scorer split", "scorer split --challenge challenge"),
    "commit": ("scorer commit", "scorer commit challenge"),
    "receipt": (
        "scorer receipt main/first-team/run.txt -o receipt.txt",
        "scorer receipt --all receipts --track main",
    ),
    "heads": ("scorer heads", "scorer heads --challenge challenge"),
    "reveal": ("scorer reveal", "scorer reveal --track main --challenge challenge"),
    "export": (
        "scorer export challenge.zip",
        "scorer export everything.zip --solutions --files",
    ),
    "paper": ("scorer paper overview", "scorer paper paper --challenge challenge"),
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


PLAIN = {"entry", "ENTRY", "phase", "VALUE"}
"""Arguments that are neither files nor one of a few words."""

FISH_VALUE = "(string replace -r -- '^--[^=]*=' '' (commandline -ct))"
"""What the word at the cursor has after an option with "="."""

MEASURES = {
    "bash": """\
_scorer_measures() {
    compgen -P "${1%"${1##*,}"}" -W '<measures>' -- "${1##*,}"
}""",
    "zsh": """\
_scorer_measures() {
    compset -P '*,'
    compadd -- <measures>
}""",
    "fish": f"""\
function _scorer_measures
    set -l word {FISH_VALUE}
    printf '%s\\n' (string replace -r -- '[^,]*$' '' "$word"){{<measures>}}
end""",
}
"""The functions of the shells that complete a measure, also after a comma."""

WHOLE_WORDS = """

# Quotes the beginning of a path, which may have spaces.
_shtab_compgen_files() { compgen -f -- "$1"; }
_shtab_compgen_dirs() { compgen -d -- "$1"; }

# Joins the words that bash splits at "@" and ":", and leaves out "=" after an option.
_scorer() {
    local -a typed=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
    local -a COMP_WORDS=()
    local COMP_CWORD=-1 word last= before=
    for word in "${typed[@]}"; do
        if [[ $word == "=" && ${COMP_WORDS[COMP_CWORD]} == --* ]]; then
            COMP_WORDS[++COMP_CWORD]=
        elif [[ $last == "=" && -z ${COMP_WORDS[COMP_CWORD]} ]]; then
            COMP_WORDS[COMP_CWORD]=$word
        elif [[ $word == [@:=] || $last == [@:=] ]]; then
            COMP_WORDS[COMP_CWORD]+=$word
        else
            COMP_WORDS[++COMP_CWORD]=$word
        fi
        last=$word
    done
    _shtab_scorer
    # bash replaces a word from its last "@" on.
    before=${COMP_WORDS[COMP_CWORD]%"$last"}
    COMPREPLY=("${COMPREPLY[@]#"${before%@}"}")
}
complete -F _scorer scorer"""
"""What the script for bash ends with."""


def completion(shell: Literal["bash", "zsh", "fish"] = argument("the shell that reads the script")) -> int:
    """Print a script with which a shell completes commands, options, words, measures and files.

    Save the script where the shell looks for completions, as in the examples; for zsh, in a folder of fpath. The script
    has all words in it and does not start scorer. Print it again after an update.
    """
    import shtab

    script = shtab.complete(_parser(shell), shell).rstrip("\n")
    if shell == "bash":
        script += WHOLE_WORDS
    if shell == "zsh":
        # All further arguments are completed as the first of several is, and not that one only.
        script = script.replace('"(*)::', '"*:').replace('"(*):', '"*:')
    print_result(script)
    return 0


def _parser(shell: str) -> Parser:
    """Return a parser with all commands, whose arguments have what completes them in a shell."""
    from scorer.cli import COMMANDS

    parser = Parser(prog="scorer")
    parser.add_argument("--version", action="version", help="print the version")
    commands = parser.add_subparsers()
    commands.nargs = None  # so that bash completes nothing after a word that is no command
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.summary)
        add_parameters(subparser, command.function)
        for action in subparser._actions:
            _complete(action, shell)
    return parser


def _complete(action: Action, shell: str) -> None:
    """Add to an argument what completes it, as shtab expects it."""
    import shtab

    # Only the beginning of the help: shells show it on one line.
    action.help = (action.help or "").partition(";")[0].partition(". ")[0]
    shown = str(action.metavar or action.dest)
    completer: Any = None
    if shown == "FORMAT":
        action.choices = FORMAT_NAMES
    elif shown == "MEASURE":
        completer = _of_measures(shell)
    elif shown == "FOLDER":
        completer = {**shtab.DIRECTORY, "fish": f"(__fish_complete_directories {FISH_VALUE})"}
    elif shown == "FILE" or not (action.option_strings or action.choices or shown in PLAIN):
        completer = {**shtab.FILE, "fish": f"(__fish_complete_path {FISH_VALUE})"}
    if completer is not None:
        action.complete = completer  # type: ignore[attr-defined]
    if shell == "zsh" and action.nargs != 0:
        # The value of such an option may follow "=".
        action.option_strings = [f"{text}=" if text.startswith("--") else text for text in action.option_strings]


def _of_measures(shell: str) -> dict[str, Any]:
    names = measure_names() if shell == "bash" else [f"'{name}'" for name in measure_names()]
    function = MEASURES[shell].replace("<measures>", ("," if shell == "fish" else " ").join(names))
    return {shell: "(_scorer_measures)" if shell == "fish" else "_scorer_measures", "preamble": {shell: function}}


def measure_names() -> list[str]:
    """Return the names that complete a measure: the kinds, with a cut-off where they need one, and the groups."""
    from scorer.measures import DEFAULT, KINDS, SETS

    cutoffs = {"required": "@10", "list": "@5,10", "level": "@0.5", "multiple": "@0.5"}
    names = [f"{kind.name}{cutoffs.get(kind.cutoff, '')}" for kind in KINDS]
    return list(dict.fromkeys([*names, *DEFAULT, *SETS]))
