// Draws the report's plots from the data in the page. Runs in the browser, from a file, without a network.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const plotHeight = 320;
  const paletteSize = 8;

  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (index) => variable(`--c${index % paletteSize}`);

  const short = (value) => {
    if (value === null || value === undefined) return "";
    const size = Math.abs(value);
    if (size >= 1e9) return `${+(value / 1e9).toPrecision(3)}G`;
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
    if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
    return String(+value.toPrecision(4));
  };
  const shown = (_, value) => (value === null || value === undefined ? "–" : short(value));

  const axis = (label, more) => ({
    label,
    labelSize: 26,
    stroke: variable("--muted"),
    grid: { stroke: variable("--line"), width: 1 },
    ticks: { stroke: variable("--line"), width: 1 },
    values: (_, values) => values.map(short),
    ...more,
  });

  const draw = (place, options, columns) => {
    const width = Math.max(280, place.clientWidth);
    return new uPlot({ width, height: plotHeight, cursor: { y: false }, ...options }, columns, place);
  };

  // Columns over one list of x, for lines that each have x of their own.
  const joined = (lines) => {
    const xs = [...new Set(lines.flatMap(({ x }) => x))].sort((a, b) => a - b);
    return [
      xs,
      ...lines.map(({ x, y }) => {
        const at = new Map(x.map((value, index) => [value, y[index]]));
        return xs.map((value) => at.get(value) ?? null);
      }),
    ];
  };

  // Several runs of one number of workers lie above each other: each is a series of its own, which the legend leaves out.
  const spread = (measured) => {
    const rounds = [];
    for (const [workers, perSecond] of measured) {
      let round = rounds.find((points) => !points.has(workers));
      if (round === undefined) {
        round = new Map();
        rounds.push(round);
      }
      round.set(workers, perSecond);
    }
    return rounds.map((points) => ({ x: [...points.keys()], y: [...points.values()] }));
  };

  const drawScaling = (place) => {
    const lines = [];
    const series = [{ label: "workers", value: shown }];
    data.scaling.sides.forEach(({ name, measured, curve }, index) => {
      lines.push({ x: curve.map(([x]) => x), y: curve.map(([, y]) => y) });
      series.push({
        label: `${name}: scalability law`,
        stroke: colour(index),
        width: 2,
        spanGaps: true,
        pxAlign: 0,
        points: { show: false },
        value: shown,
      });
      spread(measured).forEach((round, number) => {
        lines.push(round);
        series.push({
          label: number === 0 ? `${name}: measured` : `${name}: measured again`,
          stroke: colour(index),
          paths: () => null,
          points: { show: true, size: 9, fill: colour(index) },
          value: shown,
        });
      });
    });
    const options = {
      series,
      scales: { x: { time: false }, y: { range: (_, _min, max) => [0, max * 1.08] } },
      axes: [
        axis("worker_threads", { incrs: [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100] }),
        axis("operations / s", { size: 64 }),
      ],
      hooks: { draw: [markLine(data.scaling.cores, `${data.scaling.cores} cores`)] },
    };
    return [draw(place, options, joined(lines))];
  };

  // Beyond the cores more threads share the same ones.
  const markLine = (value, label) => (plot) => {
    const { ctx, bbox } = plot;
    const { min, max } = plot.scales.x;
    if (value < min || value > max) return;
    const x = Math.round(plot.valToPos(value, "x", true));
    ctx.save();
    ctx.strokeStyle = variable("--muted");
    ctx.fillStyle = variable("--muted");
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    ctx.fillText(label, x + 6 * devicePixelRatio, bbox.top + bbox.height - 6 * devicePixelRatio);
    ctx.restore();
  };

  // 1 in 100 is slower than the 99th percentile.
  const percentile = (oneIn) => {
    if (oneIn <= 1) return "0 %";
    const share = 100 * (1 - 1 / oneIn);
    const digits = Math.max(0, Math.ceil(Math.log10(oneIn)) - 2);
    return `${share.toFixed(Math.min(8, digits))} %`;
  };
  const powers = (from, to) => {
    const splits = [];
    for (let power = Math.floor(Math.log10(from)); 10 ** power <= to * 1.0001; power += 1) {
      if (10 ** power >= from * 0.9999) splits.push(10 ** power);
    }
    return splits;
  };

  const drawLatency = (place, { lines: latency, from }) => {
    const lines = latency.map(({ oneIn, ms }) => ({ x: oneIn, y: ms.map((value) => Math.max(value, 0.001)) }));
    const all = lines.flatMap(({ y }) => y);
    const low = 10 ** Math.floor(Math.log10(Math.min(...all)));
    const high = 10 ** Math.ceil(Math.log10(Math.max(...all) * 1.0001));
    const last = Math.max(...lines.flatMap(({ x }) => x));
    const options = {
      series: [
        { label: "percentile", value: (_, value) => (value === null ? "–" : percentile(value)) },
        ...latency.map(({ name }, index) => ({
          label: name,
          stroke: colour(index),
          width: 2,
          spanGaps: true,
          points: { show: false },
          value: (_, value) => (value === null || value === undefined ? "–" : `${short(value)} ms`),
        })),
      ],
      scales: {
        x: { time: false, distr: 3, range: [1, last] },
        y: { distr: 3, range: [low, high] },
      },
      axes: [
        axis("percentile", {
          splits: () => [2, ...powers(10, last)],
          values: (_, values) => values.map(percentile),
          filter: (_, splits) => splits,
        }),
        axis(`ms${from}`, {
          size: 64,
          splits: () => powers(low, high),
          filter: (_, splits) => splits,
        }),
      ],
    };
    return [draw(place, options, joined(lines))];
  };

  // What has one unit shares a plot: queueDepth and authQueueDepth both wait, queueWaitUs is a time.
  const units = [
    [/Us$/, "ms", 1e-3],
    [/Ms$/, "ms", 1],
    [/Bytes$/, "MiB", 1 / 1_048_576],
    [/PerSecond$/, "1 / s", 1],
    [/(Share|Percent)$/, "share", 1],
    // Thousands of connected minions would hide ten that wait.
    [/Depth$/, "waiting", 1],
  ];
  // What tells of overload first.
  const unitOrder = ["waiting", "ms", "1 / s", "share", "count", "MiB"];
  const unitOf = (name) => units.find(([pattern]) => pattern.test(name)) ?? [null, "count", 1];
  const spoken = (name) =>
    name
      .replace(/(Us|Ms|Bytes|PerSecond)$/, "")
      .replace(/([a-z0-9])([A-Z])/g, (_, before, letter) => `${before} ${letter.toLowerCase()}`);

  const drawSeries = (place, series) => {
    const groups = new Map();
    for (const name of Object.keys(series.values)) {
      const [, unit, scale] = unitOf(name);
      if (!groups.has(unit)) groups.set(unit, []);
      groups.get(unit).push([name, scale]);
    }
    const ordered = [...groups].sort(([a], [b]) => unitOrder.indexOf(a) - unitOrder.indexOf(b));
    return ordered.map(([unit, members]) => {
      const box = document.createElement("div");
      box.className = "plot";
      place.append(box);
      const options = {
        height: 220,
        series: [
          { label: "s", value: shown },
          ...members.map(([name], index) => ({
            label: spoken(name),
            stroke: colour(index),
            width: 2,
            points: { show: series.atMs.length < 40, size: 5 },
            value: shown,
          })),
        ],
        scales: { x: { time: false }, y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.08 : 1] } },
        axes: [axis("seconds"), axis(unit, { size: 64 })],
      };
      const columns = members.map(([name, scale]) =>
        series.values[name].map((value) => (value === null ? null : value * scale)),
      );
      return draw(box, options, [series.atMs.map((ms) => ms / 1_000), ...columns]);
    });
  };

  // Lines over rates, or over the time of results.
  const drawLines = (place, { lines, xLabel, yLabel, isTime, isLog, mark }) => {
    const all = lines.flatMap(({ y }) => y).filter((value) => value > 0);
    const low = 10 ** Math.floor(Math.log10(Math.min(...all)));
    const high = 10 ** Math.ceil(Math.log10(Math.max(...all) * 1.0001));
    const logarithmic = isLog && all.length > 0;
    const ends = { splits: () => powers(low, high), filter: (_, splits) => splits };
    const options = {
      series: [
        isTime ? {} : { label: xLabel, value: shown },
        ...lines.map(({ name }, index) => ({
          label: name,
          stroke: colour(index),
          width: 2,
          spanGaps: true,
          points: { show: true, size: 7, fill: colour(index) },
          value: shown,
        })),
      ],
      scales: {
        x: { time: isTime },
        y: logarithmic ? { distr: 3, range: [low, high] } : { range: (_, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        axis(xLabel, isTime ? { values: undefined } : {}),
        axis(yLabel, { size: 64, ...(logarithmic ? ends : {}) }),
      ],
      hooks: mark === undefined ? {} : { draw: [markLine(mark.x, mark.label)] },
    };
    return [draw(place, options, joined(lines))];
  };

  // All plots below each other, under their titles.
  const drawAll = (place, plots) =>
    plots.flatMap((plot) => {
      const heading = document.createElement("h3");
      heading.textContent = plot.title;
      const box = document.createElement("div");
      box.className = "plot";
      place.append(heading, box);
      return drawLines(box, plot);
    });

  // A place with a choice of plots above it, or none where there is only one.
  const withChoice = (id, plotted, drawOne) => {
    const section = document.getElementById(id);
    if (section === null || plotted.length === 0) return () => undefined;
    const place = section.querySelector(".place");
    const choice = section.querySelector("select");
    let plots = [];
    const redraw = () => {
      for (const plot of plots) plot.destroy();
      place.replaceChildren();
      plots = drawOne(place, choice === null ? plotted[0] : plotted[choice.selectedIndex]);
    };
    choice?.addEventListener("change", redraw);
    return redraw;
  };

  const redraws = [
    withChoice("scaling", data.scaling === undefined ? [] : [data.scaling], drawScaling),
    withChoice("curve", data.curve ?? [], drawLines),
    withChoice("latency", data.latency ?? [], drawLatency),
    withChoice("series", data.series ?? [], drawSeries),
    withChoice("trend", data.trend === undefined ? [] : [data.trend], drawAll),
  ];
  const redrawAll = () => {
    for (const redraw of redraws) redraw();
  };
  let pending;
  addEventListener("resize", () => {
    clearTimeout(pending);
    pending = setTimeout(redrawAll, 100);
  });
  dark.addEventListener("change", redrawAll);
  redrawAll();
})();
