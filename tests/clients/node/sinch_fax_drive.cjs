// Drives the fax API with Sinch's SDK; prints what it got as JSON.
// Arguments: the folder of the package; the task as JSON on the standard input.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const load = createRequire(`${process.argv[2]}/index.js`);
const { FaxService, FaxCallbackWebhooks } = load("@sinch/fax");

function open({ url, project, key, secret }) {
  return new FaxService({ projectId: project, keyId: key, keySecret: secret, authHostname: url, faxHostname: url });
}

async function catchErrors(calls) {
  const errors = {};
  for (const [name, call] of Object.entries(calls)) {
    try {
      await call();
      errors[name] = null;
    } catch (error) {
      const body = error.data ? (typeof error.data === "string" ? JSON.parse(error.data) : error.data) : {};
      errors[name] = [error.statusCode ?? null, body.error?.status ?? body.error ?? null];
    }
  }
  return errors;
}

async function send(task) {
  const fax = open(task);
  const { contact, other, file, callback, webhook } = task;
  const [service] = (await fax.services.list({})).data;
  const updated = await fax.services.update({ serviceId: service.id, updateServiceRequestBody: { incomingWebhookUrl: webhook } });
  const [form] = await fax.faxes.send({
    sendFaxRequestBody: { to: contact, filePaths: [file], headerText: "Front desk", maxRetries: 1, callbackUrl: callback },
  });
  const [json] = await fax.faxes.send({
    sendFaxRequestBody: {
      to: contact,
      files: [{ file: readFileSync(file).toString("base64"), fileType: "TXT" }],
      labels: { case: "17" },
      callbackUrl: callback,
      callbackUrlContentType: "application/json",
    },
  });
  const both = await fax.faxes.send({ sendFaxRequestBody: { to: [contact, other], filePaths: file, maxRetries: 1 } });
  const [cover] = (await fax.coverPages.list({ serviceId: service.id })).data;
  const [covered] = await fax.faxes.send({
    // Only as JSON: in a form, the SDK leaves the cover page out.
    sendFaxRequestBody: {
      to: contact,
      files: [{ file: readFileSync(file).toString("base64"), fileType: "TXT" }],
      coverPageId: cover.id,
      coverPageData: { subject: "Referral" },
    },
  });
  const numbers = (await fax.services.listNumbers({ serviceId: service.id })).data.map((number) => number.phoneNumber);
  return {
    sent: [form, json, ...both, covered].map((each) => each.id),
    recipients: both.map((each) => each.to),
    status: form.status,
    cover_pages: covered.numberOfPages - form.numberOfPages,
    created: form.createTime instanceof Date,
    labels: json.labels,
    webhook: updated.incomingWebhookUrl,
    numbers,
    errors: await catchErrors({
      bad_number: () => fax.faxes.send({ sendFaxRequestBody: { to: "banana", filePaths: file } }),
      url: () => fax.faxes.send({ sendFaxRequestBody: { to: contact, contentUrl: "http://127.0.0.1:22/" } }),
      unknown: () => fax.faxes.get({ id: "unknown" }),
      project: () => open({ ...task, project: "00000000-0000-0000-0000-000000000000" }).faxes.get({ id: form.id }),
      secret: () => open({ ...task, secret: "wrong" }).faxes.get({ id: form.id }),
      cover: () => fax.coverPages.delete({ serviceId: service.id, coverPageId: "cover_sheet" }),
      emails: () => fax.faxToEmail.list({ serviceId: service.id }),
      create_service: () => fax.services.create({ createServiceRequestBody: { name: "New" } }),
    }),
  };
}

async function read(task) {
  const fax = open(task);
  const all = [];
  for await (const each of fax.faxes.list({ pageSize: 2 })) all.push(each.id);
  const count = async (filter) => (await fax.faxes.list(filter)).data.length;
  const [done, failed] = [await fax.faxes.get({ id: task.done }), await fax.faxes.get({ id: task.failed })];
  const file = await fax.faxes.downloadContent({ id: task.arrived });
  const deleted = await fax.faxes.deleteContent({ id: task.done });
  return {
    all,
    counts: {
      inbound: await count({ direction: "INBOUND" }),
      failures: await count({ status: "FAILURE" }),
      to: await count({ to: task.contact }),
      today: await count({ createTime: done.createTime }),
      range: await count({ createTimeRange: { from: done.createTime, to: done.createTime } }),
      month: await count({ createTimeRange: { from: { date: done.createTime, unit: "month" } } }),
      old: await count({ createTime: "2020-01-01" }),
    },
    done: [done.status, done.numberOfPages, done.pagesSentSuccessfully, done.completedTime instanceof Date],
    failed: [failed.status, failed.errorType, failed.errorCode, failed.retryCount],
    file: [file.fileName, file.buffer.subarray(0, 5).toString()],
    deleted,
    has_file: (await fax.faxes.get({ id: task.done })).hasFile,
  };
}

// Uses one client before and after its access token expires: the test lets time pass when it is asked to.
async function expire(task) {
  const fax = open(task);
  const before = (await fax.faxes.list({})).data.length;
  await fetch(task.pass_time, { method: "POST" });
  return [before, (await fax.faxes.list({})).data.length];
}

function parse(task) {
  const events = task.events.map((event) => FaxCallbackWebhooks.parseEvent(event));
  return events.map((event) => [event.event, event.eventTime instanceof Date, event.fax.id, event.fax.status]);
}

(async () => {
  const [[name, task]] = Object.entries(JSON.parse(readFileSync(0, "utf8")));
  console.log(JSON.stringify(await { send, read, expire, parse }[name](task)));
})();
