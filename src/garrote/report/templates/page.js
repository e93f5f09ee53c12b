"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const positions = data.gammas.map((_, k) => k);
  const slider = document.getElementById("gamma");
  const byId = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const palette = ["#3b7dd8", "#d9822b", "#2e9d6b", "#c94f7c", "#8a63d2", "#b58b00", "#2a9bb0", "#a0522d"];
  const grey = "#98a2ad"; // of features that the fit does not select

  const shown = (value, digits = 4) =>
    value === null ? "not known" : String(Number(value.toPrecision(digits))).replace("-", "−");

  // The grid is uneven in γ, so the axis counts grid points and is labelled with their γ.
  function gammaTicks(width) {
    const wanted = Math.max(2, Math.min(8, Math.floor(width / 80)));
    const step = Math.max(1, Math.ceil((positions.length - 1) / wanted));
    const at = positions.filter((k) => k % step === 0);
    return { tickvals: at, ticktext: at.map((k) => shown(data.gammas[k], 3)) };
  }

  // Curves of one colour are one trace with gaps between them, which Plotly draws much faster than a trace for each.
  function curves(key) {
    const groups = new Map();
    data.curves.forEach((curve, i) => {
      const colour = curve.inclusion[data.chosen] > 0.5 ? palette[i % palette.length] : grey;
      if (!groups.has(colour)) groups.set(colour, { x: [], y: [], text: [] });
      const group = groups.get(colour);
      group.x.push(...positions, null);
      group.y.push(...curve[key], null);
      group.text.push(...positions.map(() => curve.name), "");
    });
    return [...groups].reverse().map(([colour, points]) => ({
      ...points, mode: "lines", type: "scatter", line: { width: colour === grey ? 1 : 2, color: colour }, hovertemplate: "%{text}: %{y:.4g}<extra></extra>",
    }));
  }

  function line(y, name, look) {
    return { x: positions, y, name, type: "scatter", mode: "lines", hovertemplate: `${name}: %{y:.6g}<extra></extra>`, line: look };
  }

  function errorTraces() {
    const traces = [];
    if (data.error_spread.some((s) => s !== null)) {
      const at = positions.filter((k) => data.error[k] !== null && data.error_spread[k] !== null);
      const band = [...at, ...at.slice().reverse()];
      const edge = [...at.map((k) => data.error[k] + data.error_spread[k]), ...at.slice().reverse().map((k) => data.error[k] - data.error_spread[k])];
      traces.push({ x: band, y: edge, type: "scatter", mode: "lines", fill: "toself", line: { width: 0 }, fillcolor: "rgba(59,125,216,0.2)", hoverinfo: "skip" });
    }
    traces.push(line(data.error, "mean over the folds", { color: palette[0], width: 2 }));
    return traces;
  }

  // Each panel: its traces, and what its caption reads at grid point k.
  const panels = {
    "coefficients": {
      traces: curves("effect"),
      values: (k) => data.curves.map((curve) => curve.effect[k]),
      reading: (k) => `largest ${shown(Math.max(0, ...data.curves.map((curve) => Math.abs(curve.effect[k]))))}`,
    },
    "inclusion": {
      traces: curves("inclusion"),
      values: (k) => data.curves.map((curve) => curve.inclusion[k]),
      reading: (k) => `${data.n_selected[k]} above ½`,
    },
    "free-energy": {
      traces: [
        line(data.free_energy.up, "annealed upwards", { color: palette[1], width: 1, dash: "dot" }),
        line(data.free_energy.down, "followed downwards", { color: palette[2], width: 1, dash: "dash" }),
        line(data.free_energy.lowest, "lowest found", { color: palette[0], width: 2 }),
      ],
      values: (k) => [data.free_energy.lowest[k]],
      reading: (k) => shown(data.free_energy.lowest[k], 6),
      legend: true,
    },
  };
  if (data.error !== null) {
    panels["error"] = { traces: errorTraces(), values: (k) => [data.error[k]], reading: (k) => shown(data.error[k]) };
  }

  const cursor = (k) => [
    { type: "line", xref: "x", yref: "paper", x0: data.chosen, x1: data.chosen, y0: 0, y1: 1, line: { color: colour("--quiet"), width: 1, dash: "dash" } },
    { type: "line", xref: "x", yref: "paper", x0: k, x1: k, y0: 0, y1: 1, line: { color: colour("--accent"), width: 2 } },
  ];

  function layout(panel, element) {
    const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), fixedrange: true, automargin: true };
    return {
      margin: { l: 10, r: 10, t: 10, b: 10 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--ink"), family: "system-ui, sans-serif", size: 12 },
      hovermode: "closest", dragmode: false, showlegend: Boolean(panel.legend),
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      xaxis: { ...axis, title: { text: "γ" }, range: [-0.5, positions.length - 0.5], ...gammaTicks(element.clientWidth) },
      yaxis: axis, shapes: cursor(Number(slider.value)),
    };
  }

  // The dots that ride on the curves at the slider's γ are the last trace of each panel.
  function dots(panel, k) {
    const values = panel.values(k);
    return { x: values.map(() => k), y: values, type: "scatter", mode: "markers", marker: { color: colour("--accent"), size: 6 }, hoverinfo: "skip", showlegend: false };
  }

  function state(k) {
    const names = data.curves.filter((curve) => curve.inclusion[k] > 0.5).map((curve) => unescaped(curve.name));
    const listed = names.slice(0, 12).join(", ") + (data.n_selected[k] > Math.min(12, names.length) ? " …" : "");
    return `${data.n_selected[k]} selected, noise level ${shown(data.noise[k])}${listed ? ": " + listed : ""}`;
  }

  // Names are escaped for Plotly, which reads some HTML; as text of the page they are plain.
  const unescaped = (name) => name.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

  function describe(k) {
    byId("gamma-value").textContent = shown(data.gammas[k]);
    slider.setAttribute("aria-valuetext", `γ = ${shown(data.gammas[k])}`);
    byId("state").textContent = state(k);
    for (const [id, panel] of Object.entries(panels)) byId(`${id}-reading`).textContent = panel.reading(k);
  }

  function draw() {
    const k = Number(slider.value);
    for (const [id, panel] of Object.entries(panels)) {
      const element = byId(id);
      Plotly.react(element, [...panel.traces, dots(panel, k)], layout(panel, element), { displayModeBar: false, responsive: true });
    }
    describe(k);
  }

  function move(k) {
    slider.value = k;
    describe(k);
    for (const [id, panel] of Object.entries(panels)) {
      const element = byId(id);
      const { x, y } = dots(panel, k);
      Plotly.update(element, { x: [x], y: [y] }, { shapes: cursor(k) }, [element.data.length - 1]);
    }
  }

  function sortable(table) {
    const body = table.tBodies[0];
    const headers = [...table.tHead.rows[0].cells];
    const key = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    headers.forEach((header, column) => {
      const numeric = header.classList.contains("number");
      header.querySelector("button").addEventListener("click", () => {
        // Numbers start with the largest, text with the first letter.
        const before = header.getAttribute("aria-sort");
        const rising = before === "none" ? !numeric : before === "descending";
        const compare = (a, b) =>
          numeric ? key(a, column) - key(b, column) : key(a, column).localeCompare(key(b, column), "en", { numeric: true });
        body.append(...[...body.rows].sort((a, b) => (rising ? compare(a, b) : compare(b, a))));
        headers.forEach((other) => other.setAttribute("aria-sort", "none"));
        header.setAttribute("aria-sort", rising ? "ascending" : "descending");
      });
    });
  }

  document.querySelectorAll("table.sortable").forEach(sortable);
  draw();
  slider.addEventListener("input", () => move(Number(slider.value)));
  byId("reset").addEventListener("click", () => move(data.chosen));
  for (const id of Object.keys(panels)) byId(id).on("plotly_click", (event) => move(event.points[0].x));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
