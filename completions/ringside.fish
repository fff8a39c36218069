# SPDX-License-Identifier: BSD-2-Clause
# fish completion for ringside: `ringside complete` lists the possible words.

function __ringside_complete
    set -l words (commandline -opc)
    set -l command $words[1]
    set -e words[1]
    set -l current (commandline -ct | string replace -ra '[\'"\\\\]' '')
    for line in ($command complete $words "$current" 2>/dev/null)
        set -l parts (string split \t -- $line)
        set -l path (string replace -- "$parts[2]" '' "$current")
        switch $line
            case ':file*'
                printf '%s\n' "$parts[2]"(__fish_complete_path "$path")
            case ':directory*'
                printf '%s\n' "$parts[2]"(__fish_complete_directories "$path" '')
            case ':*'
            case '*'
                echo -- $line
        end
    end
end

complete -c ringside -f -a '(__ringside_complete)'
