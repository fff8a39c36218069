// args: -n 'BEGIN{ trace("howdy from linux"); }'
/* A. Leventhal, DTrace for Linux (of Oracle's port) */
