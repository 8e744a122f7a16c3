"""The scripts of ``scorer completion``, one for each shell, filled with the words that complete each command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from scorer.cli.completion import FILES, FOLDERS, MEASURES, NOTHING, Completed

Commands = Mapping[str, Completed]


def _quoted(text: str) -> str:
    """The text in single quotes, as all three shells read it."""
    return "'" + text.replace("'", r"'\''") + "'"


def _filled(script: str, parts: Mapping[str, str]) -> str:
    for name, text in parts.items():
        script = script.replace(f"<{name}>", text)
    return script


# bash and zsh

CASES = """\
# Sets REPLY to the options of a command.
_scorer_options() {
    REPLY=
    case $1 in
<options>
    esac
}

# Sets REPLY to what completes the value of an option: words, or files, folders, measures or nothing.
_scorer_value() {
    REPLY=
    case "$1 $2" in
<values>
    esac
}

# Sets REPLY to what completes the argument of a command at a place, from 0.
_scorer_place() {
    REPLY=
    case "$1 $2" in
<places>
    esac
}
"""

BASH = """\
# Completion of scorer for bash, printed by `scorer completion bash`.

_scorer() {
    local current=${COMP_WORDS[COMP_CWORD]} start=$COMP_CWORD before= place=0 REPLY i word
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _scorer_words '<commands> --help --version' "$current"
        return
    fi
    # bash splits words at some characters, such as "=" and "@".
    while ((start > 3)) && [[ ${COMP_WORDS[start-1]} == "@" ]]; do ((start -= 2)); done
    if [[ $current == "=" ]]; then
        current=
    elif [[ ${COMP_WORDS[start-1]} == "=" ]]; then
        ((start--))
    fi
    _scorer_value "${COMP_WORDS[1]}" "${COMP_WORDS[start-1]}"
    if [[ -z $REPLY && $current == -* ]]; then
        _scorer_options "${COMP_WORDS[1]}"
        _scorer_words "$REPLY" "$current"
        return
    fi
    if [[ -z $REPLY ]]; then
        for ((i = 2; i < start; i++)); do
            word=${COMP_WORDS[i]}
            if [[ $word == [@=:] ]]; then
                ((i++))
            elif [[ $word == -?* ]]; then
                _scorer_value "${COMP_WORDS[1]}" "$word"
                [[ -n $REPLY && ${COMP_WORDS[i+1]} != "=" ]] && ((i++))
            else
                ((place++))
            fi
        done
        _scorer_place "${COMP_WORDS[1]}" "$place"
    fi
    # What follows "@" is a cut-off, up to a comma. bash replaces a word from its last "@" on.
    if [[ $current == "@" ]]; then
        return
    elif [[ ${COMP_WORDS[COMP_CWORD-1]} == "@" ]]; then
        [[ $REPLY == measures && $current == *,* ]] || return
        before=@
    fi
    case $REPLY in
        files) _scorer_files -f "$current" ;;
        folders) _scorer_files -d "$current" ;;
        measures)
            word=${current##*,}
            _scorer_words '<measures>' "$word" "$before${current%"$word"}"
            ;;
        nothing) ;;
        *) _scorer_words "$REPLY" "$current" ;;
    esac
}

# Offers words that begin as the second argument, after the prefix.
_scorer_words() {
    local word
    while IFS= read -r word; do COMPREPLY+=("$3$word"); done < <(compgen -W "$1" -- "$2")
}

_scorer_files() {
    local word
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$1" -- "$2")
}

<cases>
complete -F _scorer scorer"""

ZSH = """\
#compdef scorer
# Completion of scorer for zsh, printed by `scorer completion zsh`.

_scorer() {
    local REPLY word previous=$words[CURRENT-1]
    local -i place=0 i
    local -a commands
    commands=(
<described>
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        compadd -- --help --version
        return
    fi
    if [[ $PREFIX == --*=* ]]; then
        previous=${PREFIX%%=*}
        compset -P '*='
    fi
    _scorer_value "$words[2]" "$previous"
    if [[ -z $REPLY && $PREFIX == -* ]]; then
        _scorer_options "$words[2]"
        compadd -- ${=REPLY}
        return
    fi
    if [[ -z $REPLY ]]; then
        for (( i = 3; i < CURRENT; i++ )); do
            word=$words[i]
            if [[ $word == --*=* ]]; then
                continue
            elif [[ $word == -?* ]]; then
                _scorer_value "$words[2]" "$word"
                [[ -n $REPLY ]] && (( i++ ))
            else
                (( place++ ))
            fi
        done
        _scorer_place "$words[2]" "$place"
    fi
    case $REPLY in
        files) _files ;;
        folders) _files -/ ;;
        measures)
            compset -P '*,'
            compadd -- <measures>
            ;;
        nothing) ;;
        *) compadd -- ${=REPLY} ;;
    esac
}

<cases>
if [[ $funcstack[1] == _scorer ]]; then
    _scorer "$@"
else
    compdef _scorer scorer
fi"""


def bash(commands: Commands, measures: Sequence[str]) -> str:
    """Return the script for bash."""
    parts = {"commands": " ".join(commands), "measures": " ".join(measures), "cases": _cases(commands)}
    return _filled(BASH, parts)


def zsh(commands: Commands, measures: Sequence[str]) -> str:
    """Return the script for zsh."""
    described = "\n".join(f"        {_quoted(f'{name}:{each.summary}')}" for name, each in commands.items())
    parts = {"described": described, "measures": " ".join(map(_quoted, measures)), "cases": _cases(commands)}
    return _filled(ZSH, parts)


def _cases(commands: Commands) -> str:
    values = (
        (_patterns(name, option.spellings), option.value)
        for name, each in commands.items()
        for option in each.options
        if option.value
    )
    options = (
        (name, " ".join(spelling for option in each.options for spelling in option.spellings))
        for name, each in commands.items()
    )
    places = (case for name, each in commands.items() for case in _places(name, each))
    parts = {"options": options, "values": values, "places": places}
    return _filled(
        CASES,
        {
            name: "\n".join(f"        {pattern}) REPLY={_quoted(reply)} ;;" for pattern, reply in cases)
            for name, cases in parts.items()
        },
    )


def _patterns(name: str, spellings: Sequence[str]) -> str:
    return " | ".join(f'"{name} {spelling}"' for spelling in spellings)


def _places(name: str, command: Completed) -> Iterator[tuple[str, str]]:
    """Yield the pattern of each place and what completes it; a last pattern is for all further places."""
    for place, value in enumerate(command.places):
        yield f'"{name} {place}"', value
    if command.goes_on:
        yield f'"{name} "*', command.places[-1]


# fish

FISH = """\
# Completion of scorer for fish, printed by `scorer completion fish`.

function __scorer_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = "$argv[1]"
end

# Whether the cursor is in the command of the first argument, at the place of the second one, or after it if that ends
# with "+". The other arguments are the options that have a value.
function __scorer_place
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = "$argv[1]"; or return 1
    set -l valued $argv
    set -e valued[1..2]
    set -e words[1..2]
    set -l place 0
    set -l is_value no
    for word in $words
        if test $is_value = yes
            set is_value no
        else if contains -- "$word" $valued
            set is_value yes
        else if not string match -q -- '-?*' "$word"
            set place (math $place + 1)
        end
    end
    if string match -q -- '*+' "$argv[2]"
        test $place -ge (string replace '+' '' -- "$argv[2]")
    else
        test $place -eq "$argv[2]"
    end
end

# Prints all measures after the part of the word that ends with a comma.
function __scorer_measures
    set -l word (string replace -r -- '^--[^=]*=' '' (commandline -ct))
    set -l before (string replace -r -- '[^,]*$' '' "$word")
    printf '%s\\n' "$before"{<measures>}
end

complete -c scorer -f
<lines>"""


def fish(commands: Commands, measures: Sequence[str]) -> str:
    """Return the script for fish."""
    lines = [
        f"complete -c scorer -n 'test (count (commandline -opc)) -eq 1' -a {name} -d {_quoted(each.summary)}"
        for name, each in commands.items()
    ]
    lines.append("complete -c scorer -n 'test (count (commandline -opc)) -eq 1' -l help -d 'show the help'")
    lines.append("complete -c scorer -n 'test (count (commandline -opc)) -eq 1' -l version -d 'print the version'")
    lines += [line for name, each in commands.items() for line in _fish_lines(name, each)]
    return _filled(FISH, {"measures": ",".join(map(_quoted, measures)), "lines": "\n".join(lines)})


def _fish_lines(name: str, command: Completed) -> Iterator[str]:
    for option in command.options:
        spelled = " ".join(
            f"-l {spelling[2:]}" if spelling.startswith("--") else f"-s {spelling[1:]}" for spelling in option.spellings
        )
        value = _fish_value(option.value, of_option=True)
        yield f"complete -c scorer -n '__scorer_command {name}' {spelled}{value} -d {_quoted(option.about)}"
    valued = " ".join(spelling for option in command.options if option.value for spelling in option.spellings)
    for place, value in enumerate(command.places):
        last = "+" if command.goes_on and place == len(command.places) - 1 else ""
        if value != NOTHING:
            condition = f"__scorer_place {name} {place}{last} {valued}".rstrip()
            yield f"complete -c scorer -n {_quoted(condition)}{_fish_value(value, of_option=False)}"


def _fish_value(value: str, *, of_option: bool) -> str:
    """The arguments of ``complete`` for a value; empty for an option without one."""
    if not value:
        return ""
    if value == FILES:
        return " -r -F" if of_option else " -F"
    words = {FOLDERS: "(__fish_complete_directories)", MEASURES: "(__scorer_measures)", NOTHING: ""}.get(value, value)
    return (" -x" if of_option else "") + (f" -a {_quoted(words)}" if words else "")


SCRIPTS: Mapping[str, Callable[[Commands, Sequence[str]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""By the name of the shell."""
