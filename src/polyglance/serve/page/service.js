// Requests to the service that sent this page, and nowhere else.

export const $ = (id) => document.getElementById(id);
let token = "";
let asking = null;

export async function call(address, options = {}) {
  const headers = { ...(options.headers || {}) };
  const used = token;
  if (used) headers.Authorization = `Bearer ${used}`;
  const answer = await fetch(address, { ...options, headers });
  if (answer.status !== 401) return answer;
  if (used === token) await askForToken(); // else another request has asked meanwhile
  return call(address, options);
}

// The JSON of an answer, or null where there is none.
export async function read(address, options = {}) {
  try {
    const answer = await call(address, options);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function askForToken() {
  asking ??= new Promise((done) => {
    $("token").value = "";
    $("ask").addEventListener("close", () => {
      token = $("token").value.replace(/[^\x21-\x7e]/g, "");
      asking = null;
      done();
    }, { once: true });
    $("ask").showModal();
  });
  return asking;
}

// With another address for what cannot be shown.
export async function show(image, address, instead = "") {
  image.onerror = instead ? () => show(image, instead) : null;
  // A token travels in a header, which <img> cannot send.
  if (!token) { image.src = address; return; }
  const answer = await call(address);
  if (!answer.ok) { image.onerror?.(); return; }
  const local = URL.createObjectURL(await answer.blob());
  image.addEventListener("load", () => URL.revokeObjectURL(local), { once: true });
  image.src = local;
}
