"use strict";
// Zooms and searches the flame graph that this script is in. Each frame is a <g class="f"> with the
// attributes x, w (its first column and its width, of all columns) and a <title>, a <rect>, a <text>.
(function () {
	const svg = document.documentElement;
	const frames = Array.from(svg.querySelectorAll("g.f"));
	const all = Number(svg.dataset.columns);
	const left = Number(svg.dataset.left), width = Number(svg.dataset.width);
	const found = svg.querySelector("#found"), reset = svg.querySelector("#reset");
	const search = svg.querySelector("#search");
	let wanted = null;

	function x(g) { return Number(g.dataset.x); }
	function w(g) { return Number(g.dataset.w); }

	function label(g, pixels) {
		const text = g.querySelector("text"), name = g.dataset.name;
		const room = Math.floor((pixels - 6) / 7);
		text.textContent = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 2) + "..";
	}

	// Shows the columns from x0 on, w0 wide. A frame around them fills the width.
	function zoom(x0, w0, depth) {
		for (const g of frames) {
			const begin = Math.max(x(g), x0), end = Math.min(x(g) + w(g), x0 + w0);
			const visible = end > begin;
			g.style.display = visible ? "" : "none";
			if (!visible)
				continue;
			const at = left + (begin - x0) / w0 * width, wide = (end - begin) / w0 * width;
			const rect = g.querySelector("rect"), text = g.querySelector("text");
			rect.setAttribute("x", at.toFixed(2));
			rect.setAttribute("width", Math.max(wide - 0.5, 0.1).toFixed(2));
			text.setAttribute("x", (at + 3).toFixed(2));
			g.classList.toggle("parent", Number(g.dataset.depth) < depth);
			label(g, wide);
		}
		reset.style.display = w0 < all ? "" : "none";
	}

	// Marks the frames that match, and shows their share: each column counts once.
	function match(expression) {
		wanted = expression || null;
		const spans = [];
		let test = null;
		try {
			test = wanted && new RegExp(wanted);
		} catch (error) {
			found.textContent = "not a regular expression: " + wanted;
			return;
		}
		for (const g of frames) {
			const hit = Boolean(test) && test.test(g.dataset.name);
			g.classList.toggle("hit", hit);
			if (hit)
				spans.push([x(g), x(g) + w(g)]);
		}
		spans.sort(function (a, b) { return a[0] - b[0]; });
		let sum = 0, end = 0;
		for (const [from, to] of spans) {
			sum += Math.max(0, to - Math.max(from, end));
			end = Math.max(end, to);
		}
		found.textContent = wanted ? "matched: " + (100 * sum / (all || 1)).toFixed(1) + "%" : "";
	}

	for (const g of frames)
		g.addEventListener("click", function () { zoom(x(g), w(g), Number(g.dataset.depth)); });
	reset.addEventListener("click", function () { zoom(0, all, 0); });
	search.addEventListener("click", function () {
		match(window.prompt("Functions to mark (a regular expression):", wanted || ""));
	});
	window.addEventListener("keydown", function (event) {
		if (event.key === "Escape")
			zoom(0, all, 0);
		if ((event.ctrlKey && event.key === "f") || event.key === "/") {
			event.preventDefault();
			search.dispatchEvent(new Event("click"));
		}
	});
	// For pages that embed the graph, and for tests.
	window.ringside = { zoom: zoom, match: match };
	zoom(0, all, 0);
})();
