// args: -n 'BEGIN { exit(0); }'
/* Gentoo wiki, DTrace, basic sanity checks; the same in flamegraph's README for macOS */
