// args: -q -x target=42 -s {}
/* Of the process that runs the program; what -x target says. */
BEGIN
{
	printf("%d %d %d %d %d\n", $target, $pid > 1, $ppid >= 0, $pgid >= 0, $sid >= 0);
	printf("%d %d\n", $uid == $euid, $gid == $egid);
}
