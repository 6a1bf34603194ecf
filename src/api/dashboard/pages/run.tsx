/** Runs a function on minions, after a look at what the target reaches. */
import { useState } from "preact/hooks";
import { Confirm } from "../parts/confirm.tsx";
import type { ApiClient, Command, Target } from "../session/client.ts";
import { argumentsOf } from "../views/job-view.ts";
import { addressOf, type Place } from "../views/place.ts";
import { minions } from "../views/texts.ts";
import { TargetFields, TargetPreview, useExplained } from "./target-preview.tsx";

async function started(client: ApiClient, command: Command, batch: string): Promise<string | undefined> {
  if (batch === "") return (await client.start(command))?.jid;
  return await client.startBatch(command, batch);
}

export function RunPage({ client, place }: { readonly client: ApiClient; readonly place: Place }) {
  const [target, setTarget] = useState<Target>({
    tgt: place.query.get("tgt") ?? "*",
    tgt_type: place.query.get("tgt_type") ?? "glob",
  });
  const [fun, setFun] = useState("test.ping");
  const [args, setArgs] = useState("");
  const [batch, setBatch] = useState("");
  const [isAsking, setAsking] = useState(false);
  const explained = useExplained(client, target);
  const command: Command = { ...target, fun: fun.trim(), arg: argumentsOf(args) };
  const run = async () => {
    const jid = await started(client, command, batch.trim());
    if (jid === undefined) throw new Error("The target matches no minion.");
    location.hash = addressOf("jobs", jid);
  };
  const ask = (event: Event) => {
    event.preventDefault();
    setAsking(true);
  };
  return (
    <>
      <h1>Run a command</h1>
      <form class="panel" onSubmit={ask}>
        <TargetFields target={target} onChange={setTarget} />
        <TargetPreview explained={explained} />
        <label>
          Function
          <input
            class="code"
            value={fun}
            spellcheck={false}
            required
            pattern="\s*[\w]+\.[\w]+\s*"
            title="A module and a function, such as test.ping"
            onInput={({ currentTarget }) => setFun(currentTarget.value)}
          />
        </label>
        <label>
          Arguments, one a line; name=value is a named one
          <textarea
            class="code"
            rows={3}
            value={args}
            spellcheck={false}
            onInput={({ currentTarget }) => setArgs(currentTarget.value)}
          />
        </label>
        <BatchField batch={batch} onChange={setBatch} />
        <div class="buttons">
          <button type="submit" class="primary">
            Run …
          </button>
        </div>
      </form>
      {isAsking && (
        <Confirm title={`Run ${command.fun}?`} action="Run" onConfirm={run} onClose={() => setAsking(false)}>
          <p>
            {explained.value === undefined
              ? "The number of minions is not known."
              : `It goes to ${minions(explained.value.matched)}${batch.trim() === "" ? "" : `, ${batch.trim()} at a time`}.`}
          </p>
          <pre>{[command.fun, ...command.arg].join("\n  ")}</pre>
        </Confirm>
      )}
    </>
  );
}

type BatchFieldProps = { readonly batch: string; readonly onChange: (batch: string) => void };

function BatchField({ batch, onChange }: BatchFieldProps) {
  return (
    <label>
      At a time (a number or a share such as 10%); empty: all at once
      <input
        class="code"
        value={batch}
        pattern="\s*[0-9]+(\.[0-9]+)?%?\s*"
        title="A number of minions, or a share such as 10%"
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  );
}
