# Completion of spile's command line for fish. Options and verbs are read from `spile --help`, so that this file needs no change for a new one.

function __spile_help
    set -l command (commandline -opc)[1]
    $command --help 2>/dev/null
end

# "       spile [OPTIONS] hist EVENT ...": the verbs, with what "  hist    count an event ..." says of them.
function __spile_verbs
    set -l help (__spile_help)
    for verb in (string replace -rf '^       spile \[OPTIONS\] ([a-z]+)( .*)?$' '$1' -- $help)
        printf '%s\t%s\n' $verb (string replace -rf "^  $verb +(.*)\$" '$1' -- $help)[1]
    end
end

# "  -x PID|NAME    ...", "  -h, --help    ...", "  --hz N    ..."
function __spile_options
    for line in (__spile_help | string match -r '^  -.*')
        set -l parts (string match -r '^  (-[A-Za-z])?(, )?(--[A-Za-z][-A-Za-z]*)?[^ ]*.*? {2,}(.*)$' -- $line)
        set -l about (string replace -r '^.* {2,}' '' -- $line)
        for name in (string match -ra -- '(?<=^  |, )--?[A-Za-z][-A-Za-z]*' $line)
            printf '%s\t%s\n' $name $about
        end
    end
end

function __spile_takes_value
    set -l option $argv[1]
    __spile_help | string match -qr -- "^  (-[A-Za-z], )?$option [A-Z\[]"
end

# The first word that is neither an option nor the value of one. Status 1: there is none yet.
function __spile_verb
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
        else if string match -q -- '-*' $word
            __spile_takes_value $word; and set skip 1
        else if test $word != record # which stands before a verb, or a script
            echo $word
            return 0
        end
    end
    return 1
end

function __spile_processes
    ps -u (id -u) -o pid=,comm= 2>/dev/null | string replace -r '^ *(\d+) (.*)$' '$1\t$2'
    ps -u (id -u) -o comm= 2>/dev/null
end

# Functions of the program of -x or -c, for verbs that name functions.
function __spile_functions
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        if contains -- $words[$i] -x -c; and test $i -lt (count $words)
            $words[1] funcs $words[$i] $words[(math $i + 1)] (commandline -ct)'*' 2>/dev/null | string replace -r ' .*' ''
            return
        end
    end
end

complete -c spile -n 'not __spile_verb >/dev/null' -a '(__spile_verbs)'
complete -c spile -n 'string match -q -- "-*" (commandline -ct)' -a '(__spile_options)'
complete -c spile -s x -x -a '(__spile_processes)'
complete -c spile -s c -x -a '(__fish_complete_command)'
complete -c spile -s p -x -a '1 2 3 4 5'
complete -c spile -s D -x -a 'MAXACTION= MAXBACKTRACE= MAXERRORS= MAXMAPENTRIES= MAXNESTING= MAXSKIPPED= MAXSTRINGLEN='
complete -c spile -l runtime -x -a 'auto inproc bpf'
complete -c spile -s o -r
complete -c spile -n 'contains -- (__spile_verb) top lat trace funcs vars lines' -a '(__spile_functions)'
