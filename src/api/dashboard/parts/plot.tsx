/** A plot of one figure over the last minutes. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { timeText } from "../views/texts.ts";

type Props = {
  readonly title: string;
  readonly latest: string;
  /** Unix times in seconds, and the values. */
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
};

const heightPixels = 120;

function options(element: HTMLElement, format: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(element);
  const ink = style.getPropertyValue("--muted");
  const axis = { stroke: ink, grid: { stroke: style.getPropertyValue("--line"), width: 1 }, ticks: { show: false } };
  return {
    width: Math.max(200, element.clientWidth),
    height: heightPixels,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, space: 80, values: (_, splits) => splits.map((seconds) => timeText(seconds * 1_000, "clock")) },
      { ...axis, size: 64, space: 24, values: (_, splits) => splits.map(format) },
    ],
    series: [{}, { stroke: style.getPropertyValue("--accent"), width: 2, points: { show: false } }],
  };
}

export function Plot({ title, latest, times, values, format }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => {
      const data = plot.current?.data ?? [[], []];
      plot.current?.destroy();
      plot.current = new uPlot(options(element, format), data, element);
    };
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: heightPixels }));
    redraw();
    watch.observe(element);
    dark.addEventListener("change", redraw);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", redraw);
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData([[...times], [...values]]), [times, values]);
  return (
    <figure class="plot">
      <figcaption>
        {title} <strong>{latest}</strong>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title} over the last minutes, now ${latest}`} />
    </figure>
  );
}
