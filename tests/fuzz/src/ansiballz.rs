//! Payloads of Python modules as ansible-core sends them: the program, and the zip in it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use modbox_kinds::ansiballz::{ReceivedPayload, may_be_payload, zip_text};

/// Arguments of a payload.
const PARAMS: &str = r#"'{"ANSIBLE_MODULE_ARGS": {"data": "x"}}'"#;

/// Reads a program, or a zip in an otherwise valid program: no input would get through base64 to the zip. A payload is packed and
/// read again as the same one, and its files stay below a folder.
pub fn run(data: &[u8]) -> bool {
    let program = if may_be_payload(data) { data.to_vec() } else { program(&BASE64.encode(data)) };
    let Ok(received) = ReceivedPayload::read(&program) else { return false };
    let payload = &received.payload;
    assert!(payload.files.contains_key(&payload.module.file(false)));
    for path in payload.files.keys() {
        assert!(path.split('/').all(|part| !part.is_empty() && part != "." && part != ".."), "{path}");
    }
    let packed = zip_text(payload).expect("what was unpacked can be packed");
    let module = payload.module.to_string();
    let again = ReceivedPayload::read(program_of(&packed, &module).as_slice()).expect("what was packed can be read");
    assert_eq!(again.payload, *payload);
    true
}

fn program(zip: &str) -> Vec<u8> {
    program_of(zip, "ansible.modules.ping")
}

/// Returns a program as ansible-core 2.19 writes it.
fn program_of(zip: &str, module: &str) -> Vec<u8> {
    format!(
        "_ANSIBALLZ_WRAPPER = True\ndef _ansiballz_main():\n    pass\n_ansiballz_main(module_fqn={module:?}, \
         profile='legacy', params={PARAMS}, zip_data='{zip}')\n"
    )
    .into_bytes()
}
