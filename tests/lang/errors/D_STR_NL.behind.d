// the token behind the declaration is what fails first
self int;
"text
// at 3:1
