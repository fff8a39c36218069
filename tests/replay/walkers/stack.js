// SPDX-License-Identifier: BSD-2-Clause
// The guest's program of walkers.test in JavaScript: as stack.py.
var ROUNDS = 60;
var seen = {};

function say() {
	var line = new Error("").stackTrace;
	if (!seen[line]) {
		seen[line] = true;
		print("STACK js " + line.replace(/\n/g, ";"));
	}
}

function spin() {
	say();
	var n = 400, total = 0;
	while (n) {
		total += n;
		n--;
	}
	return total;
}

function first() {
	for (var i = 0; i < 5; i++)
		spin();
}

function second() {
	for (var i = 0; i < 8; i++)
		spin();
}

function through_c() {
	[1, 2, 3, 4, 5, 6, 7].forEach(function each(n) {
		spin();
	});
}

function Made() {
	for (var i = 0; i < 3; i++)
		spin();
}

function main() {
	for (var i = 0; i < ROUNDS; i++) {
		first();
		second();
		through_c();
		new Made();
	}
}

main();
