// args: -n 'END { trace("goodbye, world"); }'
/* Oracle Linux DTrace Tutorial: goodbye.d */
