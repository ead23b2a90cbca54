// The same in Node: a program that reads a message per line and writes a reply per line, with a browser.
// It needs `npm install playwright-core`, which drives the browser of this machine, and the path of that in CHROMIUM.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

async function onTask({ task_item, sandboxes }) {
  const { portal_url, username, password } = sandboxes.portal.portal;
  const browser = await chromium.launch({ executablePath });
  const page = await browser.newPage();
  await page.goto(portal_url);
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await submitDraft(page, task_item.instruction.match(/\((\d\d)\)/)[1]);
  const text = await page.getByRole("main").innerText();
  await browser.close();
  return text.match(/authorization number is (\w+)/)?.[1] ?? null;
}

async function submitDraft(page, place) {
  const draft = page.getByRole("link", { name: "draft_" });
  await draft.click();
  await page.getByRole("navigation", { name: "Steps" }).getByRole("link", { name: "Request" }).click();
  await page.getByLabel("Place of service").selectOption(place);
  await page.getByRole("button", { name: "Save and leave" }).click();
  await draft.click(); // at its last step, because nothing is missing
  await page.locator("[name=attest]").check();
  await page.getByRole("button", { name: "Submit the request" }).click();
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await onTask(JSON.parse(line));
  process.stdout.write(`${JSON.stringify({ answer })}\n`);
}
