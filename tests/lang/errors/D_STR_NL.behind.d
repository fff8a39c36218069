// the token after the declaration fails first
self int;
"text
// at 3:1
