/** Returner `slack_webhook`: a message in a Slack channel, by an incoming webhook. Source: Salt 3007's `slack_webhook`. */
import { printedOf, strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import { yamlText } from "../../../python/yaml-writer.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { memberOf } from "../contract/fields.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";
import { sendOrFail } from "./request.ts";
import { stateReport } from "./slack-states.ts";

export const slackWebhookReturner: Returner = {
  name: "slack_webhook",
  doc: describe("Posts a message to a Slack channel, by an incoming webhook.", "test.ping --return slack_webhook"),
  returner: async ({ ret, settings, grains, signal }) => {
    const options = settings.of("slack_webhook", {
      ...{ webhook: undefined, success_title: "{id} | Succeeded", failure_title: "{id} | Failed" },
      ...{ author_icon: "", show_tasks: false },
    });
    const webhook = options.demand("webhook");
    const isGood = ret.has("retcode") && !isTrue(memberOf(ret, "retcode"));
    const title = sprinkled(strOf(options.value(isGood ? "success_title" : "failure_title")), grains);
    const payload = payloadOf(
      ret,
      isGood,
      { title, grains, icon: strOf(options.value("author_icon")) },
      options.isOn("show_tasks"),
    );
    const { body } = await sendOrFail({
      method: "POST",
      url: new URL(webhook, "https://hooks.slack.com/services/").href,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: `payload=${quotedPlus(jsonOf(payload))}`,
      signal,
    });
    if (body !== "ok") throw returnerError(`Slack answers: ${body.slice(0, answerLengthMax)}`);
  },
};

/** Characters of Slack's answer that an error shows. */
const answerLengthMax = 500;

type Looks = { readonly title: string; readonly grains: ValueMap; readonly icon: string };

function payloadOf(ret: ValueMap, isGood: boolean, { title, grains, icon }: Looks, showsTasks: boolean): ValueMap {
  const value = memberOf(ret, "return");
  const states = stateReport(value, showsTasks);
  const given = ret.get("fun_args");
  const args = Array.isArray(given) ? given : [];
  const text = [
    `Function: ${printedOf(memberOf(ret, "fun"))}\n`,
    args.length === 0 ? "" : `Function Args: ${printedOf(args.map((arg) => printedOf(arg)))}\n`,
    `JID: ${printedOf(memberOf(ret, "jid"))}\n`,
    ...(states === undefined ? [] : [`Total: ${states.total}\n`, `Duration: ${states.seconds.toFixed(2)} secs`]),
  ];
  const head = mapOf({
    ...{ fallback: title, color: "#272727", author_name: sprinkled("{id}", grains) },
    ...{ author_link: sprinkled("{localhost}", grains), author_icon: icon },
    ...{ title: `Success: ${isGood ? "True" : "False"}`, text: text.join("") },
  });
  const shown = value instanceof Map ? `\n${yamlText(value)}\n` : printedOf(value);
  const result = mapOf({ color: isGood ? "good" : "danger", title: `Return: ${shown}` });
  return mapOf({ attachments: [head, ...(states?.attachments ?? [result])] });
}

function mapOf(members: { readonly [name: string]: Value }): ValueMap {
  return new Map<Value, Value>(Object.entries(members));
}

/** `{id}` becomes the grain `id`. */
function sprinkled(text: string, grains: ValueMap): string {
  return text
    .split(/[{}]/)
    .map((part, index) => (index % 2 === 0 ? part : printedOf(grains.get(part) ?? "")))
    .join("");
}

/** As Python's `quote_plus`. */
function quotedPlus(text: string): string {
  const percent = (sign: string) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, percent)
    .replaceAll("%20", "+");
}
