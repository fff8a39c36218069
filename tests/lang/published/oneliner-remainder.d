// args: -n 'BEGIN{v = 0x8000000000000000LL; print((long)v%-1)}'
/* The same report: its remainder */
