function _scorer_measures
    set -l word (string replace -r -- '^--[^=]*=' '' (commandline -ct))
    printf '%s\n' (string replace -r -- '[^,]*$' '' "$word"){<measures>}
end
