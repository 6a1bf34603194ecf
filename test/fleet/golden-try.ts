/** try */
import { GoldenFleet } from "./golden-fleet.ts";

const t0 = performance.now();
const fleet = await GoldenFleet.start();
console.log("up", performance.now() - t0);
for (const argv of JSON.parse(process.argv[2] ?? "[]") as string[][]) {
  const r = await fleet.run(argv);
  console.log("$", argv.join(" "), "\n" + r.stdout, r.stderr, r.rc, Math.round(r.tookMs));
}
if (process.argv[3]) console.log(fleet.logs());
await fleet.close();
