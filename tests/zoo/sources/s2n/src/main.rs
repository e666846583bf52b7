//! s2n-tls as a server. Arguments: address:port, security policy, "none", "requested" or "required", then pairs of
//! certificate and key. It ends when its standard input does.

use s2n_tls_sys::*;
use std::ffi::CString;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

const WAIT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy)]
struct Config(*mut s2n_config);
// Read only, once it is made.
unsafe impl Send for Config {}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let config = configure(&arguments[1], &arguments[2], &arguments[3..]);
    let listener = TcpListener::bind(&arguments[0]).expect("the address is free");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, config));
        }
    });
    let mut rest = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut rest);
}

fn configure(policy: &str, client: &str, pairs: &[String]) -> Config {
    unsafe {
        must(s2n_init());
        let config = s2n_config_new();
        let policy = CString::new(policy).unwrap();
        must(s2n_config_set_cipher_preferences(config, policy.as_ptr()));
        for pair in pairs.chunks(2) {
            let text: Vec<CString> = pair
                .iter()
                .map(|path| CString::new(std::fs::read(path).expect("a file")).unwrap())
                .collect();
            let served = s2n_cert_chain_and_key_new();
            must(s2n_cert_chain_and_key_load_pem(served, text[0].as_ptr(), text[1].as_ptr()));
            must(s2n_config_add_cert_chain_and_key_to_store(config, served));
        }
        must(s2n_config_set_client_auth_type(
            config,
            match client {
                "required" => s2n_cert_auth_type::REQUIRED,
                "requested" => s2n_cert_auth_type::OPTIONAL,
                _ => s2n_cert_auth_type::NONE,
            },
        ));
        Config(config)
    }
}

fn serve(stream: TcpStream, config: Config) {
    let config = config.0;
    let _ = stream.set_read_timeout(Some(WAIT));
    unsafe {
        let connection = s2n_connection_new(s2n_mode::SERVER);
        must(s2n_connection_set_config(connection, config));
        must(s2n_connection_set_blinding(connection, s2n_blinding::SELF_SERVICE_BLINDING));
        must(s2n_connection_set_fd(connection, stream.as_raw_fd()));
        let mut blocked = s2n_blocked_status::NOT_BLOCKED;
        if s2n_negotiate(connection, &mut blocked) == 0 {
            let mut byte = [0u8; 1];
            s2n_recv(connection, byte.as_mut_ptr().cast(), 1, &mut blocked);
        }
        s2n_shutdown(connection, &mut blocked);
        s2n_connection_free(connection);
    }
}

fn must(result: i32) {
    assert_eq!(result, 0, "s2n-tls refused");
}
