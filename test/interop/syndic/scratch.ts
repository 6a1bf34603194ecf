import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openReleases } from "../salt-releases.ts";
import { TestBed } from "../test-bed.ts";
import { SyndicTree } from "./tree.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === (process.argv[3] ?? "3007"));
if (!release) throw new Error("none");
const bed = new TestBed();
const top = process.argv[2] === "ours" ? ("ours" as const) : release;
const t0 = performance.now();
const show = (...x: unknown[]) => console.log(...x);
try {
  const tree = await SyndicTree.grow({
    bed,
    top,
    below: release,
    name: "t",
    topOptions: { nodegroups: { leaves: "L@ta,tb" } },
  });
  show("grown", Math.round(performance.now() - t0));
  const commands: ["salt" | "run" | "key", string[]][] = [
    ["salt", ["*", "test.ping"]],
    ["salt", ["*", "test.ping"]],
    ["salt", ["-G", "leaf:tb", "test.ping"]],
    ["salt", ["-L", "ta,tb", "test.ping"]],
    ["salt", ["-N", "leaves", "test.ping"]],
    ["salt", ["-L", "ta,nosuch", "test.ping"]],
    ["salt", ["nosuch*", "test.ping"]],
    ["salt", ["-v", "ta", "cmd.run", "exit 3"]],
    ["salt", ["ta", "test.sleep", "12"]],
    ["salt", ["-b", "1", "*", "test.ping"]],
    ["salt", ["--static", "*", "test.ping"]],
    ["salt", ["--async", "*", "test.ping"]],
    ["run", ["manage.up"]],
    ["run", ["manage.status"]],
    ["run", ["manage.versions"]],
    ["key", ["-L"]],
  ];
  const makers = process.argv[4] === "both" ? [top, release] : [top];
  for (const [tool, args] of process.env.ONLY ? commands.slice(0, Number(process.env.ONLY)) : commands)
    for (const maker of makers) {
      const from = tree.topEvents.seen.length;
      const began = performance.now();
      const ended = await tree.operator(maker).run(tool, args, { timeoutMs: 90000 });
      show(
        `\n$ ${maker === "ours" ? "ours" : "salt"}: ${tool} ${args.join(" ")} => ${ended.code} in ${Math.round(performance.now() - began)} ms\n${ended.stdout}${ended.stderr}`,
      );
      if (process.env.EV)
        for (const { tag, data } of tree.topEvents.seen.slice(from))
          show(
            "   ev",
            tag,
            JSON.stringify(data, (_k, v) =>
              v instanceof Map ? Object.fromEntries(v) : typeof v === "bigint" ? String(v) : v,
            ).slice(0, 400),
          );
    }
  const jobs = tree.topEvents.seen
    .filter(({ tag }) => /^salt\/job\/\d+\/new$/.test(tag))
    .map(({ data }) => String(data.get("jid")));
  for (const cmd of [["jobs.lookup_jid", jobs[0]!], ["jobs.list_job", jobs[0]!], ["jobs.list_jobs"]])
    for (const maker of makers) {
      const ended = await tree.operator(maker).run("run", cmd);
      show(`\n$ run ${cmd.join(" ")}\n${ended.stdout}${ended.stderr}`);
    }
  show(
    existsSync(join(tree.top.cacheDir, "syndics")) ? readdirSync(join(tree.top.cacheDir, "syndics")) : "no syndics dir",
  );
  if (process.env.LOGS)
    show(
      tree.top.program.output,
      "\n=====SYNDIC\n",
      tree.syndic.program.output,
      "\n=====LOWER\n",
      tree.lower.program.output.slice(-6000),
    );
} catch (e) {
  show(e, bed.logs());
} finally {
  await bed.close();
}
process.exit(0);
