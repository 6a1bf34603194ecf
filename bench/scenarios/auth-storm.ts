/** Question: what does an authentication cost the master, when the whole fleet authenticates at once, with and without a token? */
import type { Point } from "../results/schema.ts";
import { measured } from "./measures/measure.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import {
  aboutStorm,
  demandStorm,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
  withStorm,
} from "./setup/storm-setup.ts";
import { answered, stormPoint } from "./storm-point.ts";

type AuthStorm = StormParameters & { readonly rounds: number; readonly warmUp: number; readonly authTimeoutMs: number };

const lane = "auth";
/** Opening an auth reply costs a minion two private operations: some milliseconds of the generator's time, after the span. */
const verifyMax = 500;
const triesMax = 10;

export const authStorm = defineScenario<AuthStorm>({
  name: "auth-storm",
  version: 1,
  question:
    "What does an authentication cost the master, when the whole fleet authenticates at once, with and without a token?",
  defaults: { ...stormDefaults, rounds: 2, warmUp: 1, authTimeoutMs: 5_000 },
  about: {
    ...aboutStorm,
    rounds: "authentications of each minion at each point, its key being accepted",
    warmUp: "authentications of each minion before them that do not count",
    authTimeoutMs: "how long a minion waits for its reply before it asks again (Salt's auth_timeout is 5 s)",
  },
  demand: (p, masterHost) => demandStorm(p, masterHost, p.minions * Math.max(p.warmUp, p.rounds)),
  masterConfig: versionConfig,
  run(context) {
    const { parameters } = context;
    return withStorm(context, async (site) => {
      if (parameters.warmUp > 0) await storm(context, site, parameters.warmUp, false, "warm up");
      return [
        await storm(context, site, parameters.rounds, false, "without token"),
        await storm(context, site, parameters.rounds, true, "with token"),
      ];
    });
  },
});

async function storm(
  { master, parameters, progress, signal }: ScenarioContext<AuthStorm>,
  site: StormSite,
  rounds: number,
  hasToken: boolean,
  label: string,
): Promise<Point> {
  const connections = await site.storm.prepareAuths({ lane, rounds, hasToken });
  const options = { signal, verifyMax, timeoutMs: parameters.authTimeoutMs, tries: triesMax };
  const { span, result: outcome } = await measured(master, signal, () =>
    site.phase(progress, label, rounds * parameters.minions, () => site.storm.run([{ lane }], options)),
  );
  return stormPoint({
    label,
    parameters: { ...parameters, hasToken },
    outcome,
    span,
    correctness: answered(outcome),
    figures: { authConnections: connections },
  });
}
